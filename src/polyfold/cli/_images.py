"""Folders of pictures as rows of pixels, and back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from polyfold._validation import import_extra

ENDINGS = (".png", ".jpg", ".jpeg")


def image_source(path: Path, size: str | None, color: bool) -> tuple[Any, ...]:
    """Return how to read a folder, its number of images and of values, where each lies, and its shape."""
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in ENDINGS)
    if not files:
        raise ValueError(f"{path} must be a folder with {', '.join(ENDINGS)} or .parquet files, got none in it.")
    shape = None if size is None else parse_size(size)
    first = read_image(files[0], shape, color)

    def read(rows: int | None, texts: tuple[str, ...]) -> Iterator[np.ndarray]:
        step = len(files) if rows is None else rows
        for start in range(0, len(files), step):
            images = [read_image(file, shape, color) for file in files[start : start + step]]
            for file, image in zip(files[start : start + step], images, strict=True):
                if image.shape != first.shape:
                    raise ValueError(
                        f"{file} must have the size of {files[0].name}, {_as_text(first)}, got {_as_text(image)}; "
                        "pass --size, such as --size 32x32."
                    )
            yield np.array([image.ravel() for image in images])

    folders = np.array([str(file.parent.relative_to(path)) for file in files])
    names = np.array([str(file.relative_to(path)) for file in files])
    return read, len(files), first.size, None, {"folder": folders, "file": names}, first.shape


def read_image(file: Path, shape: tuple[int, int] | None, color: bool) -> np.ndarray:
    """Return a picture as bytes, (height, width) or (height, width, 3)."""
    pillow = import_extra("PIL.Image", "cli")
    try:
        with pillow.open(file) as picture:
            picture = picture.convert("RGB" if color else "L")
            return np.asarray(picture if shape is None else picture.resize(shape))
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"{file} must be a picture, got a file that cannot be read ({error}).") from error


def write_images(folder: Path, rows: np.ndarray, start: int, size: str | None) -> None:
    """Write rows as grey PNG files with numbers for names."""
    pillow = import_extra("PIL.Image", "cli")
    width, height = parse_size(size) if size else (round(rows.shape[1] ** 0.5),) * 2
    if width * height != rows.shape[1]:
        raise ValueError(f"rows must be pictures of --size {width}x{height}, got {rows.shape[1]} values each.")
    low, high = (0.0, 255.0) if rows.min() >= -1 and rows.max() <= 256 and rows.max() > 1 else (rows.min(), rows.max())
    pixels = np.clip(255 * (rows - low) / max(high - low, np.finfo(float).tiny), 0, 255).astype(np.uint8)
    for number, image in enumerate(pixels.reshape(-1, height, width), start=start):
        pillow.fromarray(image).save(folder / f"{number:07d}.png")


def parse_size(size: str) -> tuple[int, int]:
    """Return width and height of a text such as 32x32."""
    width, _, height = size.lower().partition("x")
    if not (width.isdigit() and height.isdigit() and int(width) and int(height)):
        raise ValueError(f"--size must be width and height such as 32x32, got {size!r}.")
    return int(width), int(height)


def _as_text(image: np.ndarray) -> str:
    return f"{image.shape[1]}x{image.shape[0]}"
