"""Write labelled texts for `benchmarks.embed_texts`: ``python -m benchmarks.text_sets wordnet data.noun texts.csv``.

- ``wordnet``: the definitions of WordNet's nouns; the class is the lexicographer file, such as animal or food. The
  input is the file ``data.noun`` of WordNet 3.0 (in the Debian package wordnet-base).
- ``debian``: one-line descriptions of Debian's packages; the class is the section, such as games or python. The input
  is what ``apt-cache dumpavail`` prints.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Iterator
from pathlib import Path


def wordnet(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the first definition of every noun, after the noun, and its lexicographer file."""
    for line in path.read_text(encoding="latin-1").splitlines():
        if not line.startswith("  "):  # the licence
            synset, gloss = line.split(" | ", 1)
            _, file, _, _, noun, *_ = synset.split()
            yield f"{noun.replace('_', ' ')}: {gloss.split(';')[0].strip()}", file


def debian(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the short description of every package and its section, without the area (contrib, non-free)."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        fields = dict(re.findall(r"^(Description|Section): (.*)$", block, flags=re.MULTILINE))
        if len(fields) == 2:
            yield fields["Description"], fields["Section"].split("/")[-1]


SETS = {"wordnet": wordnet, "debian": debian}


def main() -> None:
    """Read one of the sets and write its texts and classes."""
    parser = argparse.ArgumentParser(prog="benchmarks.text_sets")
    parser.add_argument("name", choices=SETS)
    parser.add_argument("source", type=Path, help="file to read")
    parser.add_argument("output", type=Path, help="CSV file to write, with the columns text and class")
    given = parser.parse_args()
    with given.output.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "class"), *SETS[given.name](given.source)])


if __name__ == "__main__":
    main()
