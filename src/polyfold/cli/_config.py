"""How a model is to be fitted: by the options of the command line, and by a TOML file where they leave it open."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polyfold.cli._data import Picked
from polyfold.cli._values import parse_settings, parse_value

TEXTS = ("model", "target", "array", "size", "prepare")
LISTS = ("columns", "drop", "categorical")
KEYS = (*TEXTS, *LISTS, "color", "parameters")


@dataclass(frozen=True)
class Setup:
    """What to fit, to which columns, prepared in which way; `model` is None where nothing names one."""

    picked: Picked
    model: str | None
    parameters: Mapping[str, Any]
    seed: int | None
    prepare: str
    categorical: tuple[str, ...]

    def model_of(self, command: str, name: str) -> str:
        """Return the one model of a command, or refuse a file that asks for another."""
        if self.model not in (None, name):
            raise ValueError(
                f"model of --config must be {name} for polyfold {command}, got {self.model!r}; polyfold fit takes any."
            )
        return name


def combine(
    picked: Picked,
    *,
    config: str | None,
    settings: tuple[str, ...],
    seed: int | None,
    prepare: str | None,
    categorical: str | None,
    model: str | None = None,
    given: Mapping[str, Any] | None = None,
) -> Setup:
    """Return the setup: what the command line says, then `given` by its other options, then the file."""
    file = read_config(config)
    fields = ("columns", "drop", "target", "array", "size", "color")
    return Setup(
        replace(picked, **{key: file[key] for key in fields if key in file and not getattr(picked, key)}),
        model or file.get("model"),
        {**file.get("parameters", {}), **(given or {}), **parse_settings(settings)},
        seed,
        prepare or file.get("prepare", "auto"),
        split_names(categorical) or file.get("categorical", ()),
    )


def read_config(path: str | Path | None) -> dict[str, Any]:
    """Return the settings of a TOML file: ``model``, options of the command, and the table ``parameters``."""
    if path is None:
        return {}
    try:
        config = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} must be a TOML file, got one that cannot be read ({error}).") from error
    if unknown := sorted(set(config) - set(KEYS)):
        raise ValueError(f"{path} must have the keys {', '.join(KEYS)} only, got {unknown[0]!r}.")
    return {key: _checked(path, key, value) for key, value in config.items()}


def _checked(path: str | Path, key: str, value: Any) -> Any:
    """Return a setting of the kind that its key takes."""
    if key in TEXTS and isinstance(value, str):
        return value
    if key in LISTS and isinstance(value, str | list):
        return split_names(value)
    if key == "color" and isinstance(value, bool):
        return value
    if key == "parameters" and isinstance(value, dict):
        return {name: parse_value(entry) for name, entry in value.items()}
    rules = {**dict.fromkeys(TEXTS, "a text"), **dict.fromkeys(LISTS, "a list of names"), "color": "true or false"}
    raise ValueError(f"{key} of {path} must be {rules.get(key, 'a table, [parameters]')}, got {value!r}.")


def split_names(names: str | list[Any] | None) -> tuple[str, ...]:
    """Return the names of a list, or of a text that separates them by commas."""
    if isinstance(names, list):
        return tuple(map(str, names))
    return tuple(part.strip() for part in (names or "").split(",") if part.strip())
