"""Messages of the library in the words of the command line: options in the place of parameters."""

import re
from collections.abc import Iterable

from polyfold.cli._values import public_classes

# Option of a command -> the parameter behind it, as the library calls it, and how the option is written.
OPTIONS = {
    "clusters": ("n_clusters", "-n/--clusters"),
    "neighbors": ("n_neighbors", "-k/--neighbors"),
    "points": ("max_points", "--points"),
    "seed": ("random_state", "--seed"),
}
# What comes before a parameter that is to be changed.
ADVICE = "[Pp]ass|[Uu]se|[Tt]ry|[Rr]aise|[Ll]ower"


def in_options(message: str, options: Iterable[str]) -> str:
    """Return a message with the parameters that a command sets called by its options.

    Examples
    --------
    >>> in_options("n_clusters must be an integer >= 1, got 0.", ["clusters", "settings"])
    '-n/--clusters must be an integer >= 1, got 0.'
    >>> in_options("noise must be a number >= 0, got -1; pass layer=-1.", ["settings"])
    '--set noise must be a number >= 0, got -1; pass --set layer=-1.'
    >>> in_options("it stopped after max_iter=9 epochs; raise max_iter, or use solver='closed'.", ["settings"])
    'it stopped after max_iter=9 epochs; raise --set max_iter, or use --set solver=closed.'
    """
    # What Python shows in an attribute is in no file of results.
    message = re.sub(r"look at \w+_, or ", "", message)
    for parameter, option in (OPTIONS[name] for name in OPTIONS if name in options):
        message = re.sub(rf"\b{parameter}=('?)([\w.-]+)\1", rf"{option} \2", message)
        message = re.sub(rf"(?<!['\"])\b{parameter}\b(?!['\"])", option, message)
    return _with_settings(message) if "settings" in options else message


def _with_settings(message: str) -> str:
    """Write a parameter at the beginning, or one to pass, as --set does."""
    known = {name for value in public_classes().values() for name in getattr(value, "_get_param_names", list)()}
    names = "|".join(sorted(known, key=len, reverse=True))
    message = re.sub(rf"^({names}) ", r"--set \1 ", message)
    message = re.sub(rf"\b({ADVICE}) ({names})=('?)([\w.-]+)\3", r"\1 --set \2=\4", message)
    message = re.sub(rf"\b({ADVICE}) ({names})\b", r"\1 --set \2", message)
    return message.replace("put a StandardScaler before the network", "use --prepare scale")
