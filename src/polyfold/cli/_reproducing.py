"""The command that reproduces the papers."""

import sys
from typing import Any

import click

INTERRUPTED = 130
NOTHING = 1


@click.command()
@click.argument("names", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="Name every table and figure.")
@click.option("--fast", is_flag=True, help="A smaller version that shows the same, in at most two minutes each.")
@click.option("--data", help="Folder of the data sets; default POLYFOLD_DATA, else ~/polyfold_data.")
@click.option("--seed", type=int, default=0, show_default=True, help="The first seed.")
@click.option("--out", default="polyfold-reproduce", show_default=True, help="Folder of the results.")
@click.option("--fresh", is_flag=True, help="Compute again what is there.")
def reproduce(names: tuple[str, ...], listed: bool, fast: bool, **options: Any) -> None:
    """Run tables and figures of the papers, and set them beside the printed numbers.

    What is finished is kept: the same command goes on where it was interrupted.

    \b
    polyfold reproduce --list
    polyfold reproduce mbm-table2 --fast
    polyfold reproduce all --out results
    """
    from polyfold import experiments  # pulls in every estimator: only where it is needed

    if listed or not names:
        click.echo(experiments.listing())
        return
    try:
        found = experiments.reproduce(list(names), size="fast" if fast else "full", show=click.echo, **options)
    except KeyboardInterrupt:
        sys.stderr.write(f"interrupted; what is finished is kept in {options['out']}, the same command goes on.\n")
        raise click.exceptions.Exit(INTERRUPTED) from None
    if all(result["missing"] and not result["cpu seconds"] for result in found):
        raise click.exceptions.Exit(NOTHING)  # no set was there: nothing is reproduced
