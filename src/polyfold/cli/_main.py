"""The commands and their options. Everything that takes time to import is imported by the command itself."""

import os
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from polyfold.cli import Terminal, error_message, warnings_as_notes


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; return 0, 2 after an error, or 130 after a KeyboardInterrupt."""
    try:
        with warnings_as_notes():
            return commands.main(arguments, prog_name="polyfold", standalone_mode=False) or 0
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except (KeyboardInterrupt, click.exceptions.Abort):  # if `main` has not installed its handlers
        click.echo("interrupted; unfinished outputs were removed.", err=True)
        return 130
    except click.ClickException as error:
        return _refuse(error.format_message())
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (the reader has gone; no output is needed any more)
        return 0
    except Exception as error:  # one sentence for the user; POLYFOLD_DEBUG=1 shows the traceback
        if os.environ.get("POLYFOLD_DEBUG"):
            raise
        return _refuse(error_message(error))


def _refuse(message: str) -> int:
    click.echo(f"error: {message}", err=True)
    return 2


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="polyfold")
def commands() -> None:
    """Diverse, non-redundant representations: fit, transform, search and cluster from the shell.

    Data are .npy, .npz (dense or CSR), .csv, .parquet or .zarr files, or folders of parquet files or of PNG or JPEG
    images. Model files hold no code.

    \b
    polyfold fit flowers.csv --target species -o flowers.polyfold
    polyfold report flowers.polyfold flowers.csv --target species -o flowers.html
    polyfold cluster flowers.csv --drop species --levels -o groups.csv
    """


Command = Callable[..., Any]


def _options(*options: Command) -> Command:
    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


class Config(NamedTuple):
    """A TOML file: its path, and its table of parameters. Its other entries are defaults of the options."""

    path: str | None
    parameters: dict[str, Any]


def _read_config(context: click.Context, _: click.Parameter, path: str | None) -> Config:
    """Take the options of a TOML file as defaults of the command."""
    if path is None:
        return Config(None, {})
    try:
        entries = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read as TOML: {error}.") from error
    parameters = entries.pop("parameters", {})
    if not isinstance(parameters, dict):
        raise ValueError(f"{path}: parameters must be a table, [parameters], got {parameters!r}.")
    names = {option[2:]: p.name for p in context.command.params for option in p.opts if option.startswith("--")}
    if unknown := sorted(set(entries) - set(names)):
        raise ValueError(
            f"{path}: keys must be parameters or options of polyfold {context.info_name}, got {unknown[0]!r}; it has "
            f"{', '.join(names)}."
        )
    context.default_map = {names[key]: value for key, value in entries.items()}
    return Config(path, parameters)


class Names(click.ParamType):
    """Names of columns: text that separates them by commas, or a list in a TOML file."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Return the names."""
        names = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
        return tuple(name for part in names if (name := str(part).strip()))


def _number_of_clusters(_: click.Context, __: click.Parameter, clusters: str | None) -> int | str | None:
    if clusters is None or clusters == "auto":
        return clusters
    if not (clusters.isascii() and clusters.isdigit() and int(clusters)):
        raise click.UsageError(f"-n/--clusters must be a whole number >= 1 or auto, got {clusters!r}.")
    return int(clusters)


DATA = click.argument("data")
MODEL = click.argument("model")
OUTPUT = click.option("-o", "--output", required=True, help="File to write.")
SEED = click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    callback=lambda _, __, seed: None if seed == -1 else seed,
    help="Random seed; -1 for none.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
ID = click.option("--id", metavar="NAME", help="Column to copy to the output; it is not used for fitting.")
TEXTS = click.option("--texts", metavar="COLUMN", help="Column, or array of an .npz file, with a text for every row.")
SELECT = _options(
    click.option(
        "--target", help="Targets: a column, an array of an .npz file, 'folder' for images in subfolders, or a file."
    ),
    click.option(
        "--columns",
        type=Names(),
        default=(),
        help="Columns to use, separated by commas; numbers such as 0-9,12 for arrays.",
    ),
    click.option("--drop", type=Names(), default=(), help="Columns to leave out."),
    click.option("--array", help="Array of an .npz file that holds the rows."),
    click.option("--size", help="Width and height of images, such as 32x32; images are resized to it."),
    click.option("--color", is_flag=True, help="Read images in colour instead of grey."),
    click.option("--encoding", help="Encoding of .csv files, such as utf-16 or latin-1.  [default: utf-8]"),
    click.option(
        "--header/--no-header", default=None, help="Whether .csv files begin with column names; found out by default."
    ),
)
FIT = _options(
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="Parameter of the model: a number, text, boolean or list; repeatable.",
    ),
    click.option(
        "--config",
        is_eager=True,
        callback=_read_config,
        metavar="FILE",
        help="TOML file with options and [parameters]; options here win.",
    ),
    click.option(
        "--prepare",
        type=click.Choice(("auto", "none", "impute", "scale")),
        default="auto",
        help="auto imputes, scales and encodes tables, and imputes arrays; none changes nothing.",
    ),
    click.option(
        "--categorical",
        type=Names(),
        default=(),
        help="Columns of numbers that are categories, separated by commas.",
    ),
    click.option("--plan", is_flag=True, help="Print what each column is and what would be done with it; fit nothing."),
    click.option("-o", "--output", help="File to write.  [required without --plan]"),
)


def _run(function: Command, as_json: bool, is_result: bool = False, **options: Any) -> None:
    """Call the function of a command; print its figures, as the result of the command or as its status."""
    terminal, start = Terminal(as_json), time.perf_counter()
    if figures := function(**options, terminal=terminal):
        terminal.result({**figures, "seconds": round(time.perf_counter() - start, 2)}, always=is_result)


def _run_fit(function: Command, output: str | None, plan: bool, is_result: bool = False, **options: Any) -> None:
    """Run a command that fits a model, or prints its plan."""
    if output is None and not plan:
        raise click.UsageError("Missing option '-o' / '--output'.")
    _run(function, is_result=is_result or plan, output=output, plan=plan, **options)


@commands.command()
@_options(DATA, FIT, SELECT, SEED, JSON)
@click.option(
    "--model", default="ModularKernelPCA", show_default=True, help="Class to fit; `polyfold info` lists them."
)
@click.option("--cluster", metavar="ADDRESS", help="Fit on the workers of a Dask scheduler, such as tcp://host:8786.")
@click.option("--stream/--no-stream", default=None, help="Fit block by block; by default if memory is too small.")
def fit(**options: Any) -> None:
    """Fit a model to DATA and save it.

    The default model is ModularKernelPCA with 15 modules of 20 dimensions, or fewer if the data have fewer columns.
    Set n_modules and n_components to change this.

    \b
    polyfold fit digits.npz -o digits.polyfold
    polyfold fit flowers.csv --target species --model ModularClassifier --config model.toml -o f.polyfold
    polyfold fit huge.zarr --stream --set n_modules=15 --set diversity=0.9 -o huge.polyfold
    polyfold fit huge.zarr --cluster tcp://scheduler:8786 -o huge.polyfold
    polyfold fit photos/ --size 32x32 --config model.toml -o photos.polyfold
    """
    from polyfold.cli._commands import fit_file

    _run_fit(fit_file, **options)


@commands.command()
@_options(MODEL, DATA, OUTPUT, SELECT, JSON)
@click.option("--reconstruct", is_flag=True, help="Write reconstructions; to a folder, as images.")
def transform(**options: Any) -> None:
    """Write the coordinates of DATA in the representation of MODEL.

    Rows are read, transformed and written block by block.

    \b
    polyfold transform digits.polyfold new.npy -o z.parquet
    polyfold transform autoencoder.polyfold digits.npz --reconstruct --size 8x8 -o images/
    """
    from polyfold.cli._commands import transform_file

    _run(transform_file, **options)


@commands.command()
@_options(MODEL, DATA, OUTPUT, SELECT, JSON)
@click.option("--queries", help="File with the rows to find neighbours of; all rows of DATA by default.")
@click.option("-k", "--neighbors", type=click.IntRange(1), default=10, show_default=True, help="Number of neighbours.")
@click.option("--modules", type=click.IntRange(1), help="Number of modules to scan; all by default.")
@click.option("--expand", type=click.IntRange(1), help="Candidates from each module, which all modules rank.")
def search(**options: Any) -> None:
    """Find the nearest rows of DATA in the representation of MODEL.

    Writes row numbers, from 0; .npz files also hold the distances.

    \b
    polyfold search digits.polyfold digits.npz --queries new.npy -k 5 -o found.csv
    polyfold search digits.polyfold digits.npz -k 15 -o found.npz
    """
    from polyfold.cli._commands import search_file

    _run(search_file, **options)


@commands.command()
@_options(DATA, FIT, SELECT, ID, SEED, JSON)
@click.option("-n", "--clusters", callback=_number_of_clusters, help="Number of clusters, or auto.  [default: auto]")
@click.option("--levels", is_flag=True, help="Write also the clusters of every level, one column each, coarse to fine.")
@click.option(
    "--names", is_flag=True, help="Name every cluster by the columns that set it apart; write and print them."
)
@click.option(
    "--kernel",
    metavar="NAME",
    help="Cluster by a kernel, such as diffusion; auto: diffusion maps for rows of unit length (embeddings), a "
    "bootstrap network for others.  [default: a bootstrap network]",
)
@click.option("--with", "saved", metavar="MODEL", help="Saved clusterer to apply.")
@click.option("--save", help="File for the fitted clusterer.")
def cluster(**options: Any) -> None:
    """Cluster the rows of DATA.

    Prints the number of clusters and, unless -n is given, the stability of every level. Writes the cluster of every
    row; .csv and .parquet files begin with --id, the index of the table, or row numbers.
    With --levels, a column such as clusters_4 holds the clusters of the level with four of them. With --names, a
    column of names follows each of these.

    \b
    polyfold cluster flowers.csv --drop species --levels --names -o groups.csv
    polyfold cluster embeddings.npy --kernel auto --levels -o groups.csv
    polyfold cluster flowers.csv --drop species -n 3 --save groups.polyfold -o groups.csv
    polyfold cluster new.csv --with groups.polyfold --id name -o new_groups.csv
    polyfold cluster digits.npz -n 10 --set network__n_clusterings=200 -o groups.npy
    """
    from polyfold.cli._commands import cluster_file

    _run_fit(cluster_file, is_result=True, **options)


@commands.command(name="map")
@_options(DATA, FIT, SELECT, SEED, JSON)
@click.option("--save", help="File for the fitted map.")
def map_(**options: Any) -> None:
    """Map the rows of DATA to two dimensions.

    Writes coordinates, or a plot (.png, .svg, .pdf) coloured by --target.

    \b
    polyfold map digits.npz --target y -o map.png
    polyfold map flowers.csv --drop species -o map.csv
    """
    from polyfold.cli._commands import map_file

    _run_fit(map_file, **options)


@commands.command()
@_options(MODEL, DATA, SELECT, SEED, JSON)
def evaluate(**options: Any) -> None:
    """Evaluate MODEL on DATA.

    Prints the fraction of neighbours that are kept, the correlation of modules, and accuracies if there are targets.

    \b
    polyfold evaluate digits.polyfold digits.npz --target y
    """
    from polyfold.cli._commands import evaluate_file

    _run(evaluate_file, is_result=True, **options)


@commands.command()
@_options(MODEL, DATA, OUTPUT, SELECT, TEXTS, SEED, JSON)
@click.option("--title", help="Title of the HTML page.")
def explain(**options: Any) -> None:
    """Explain the axes, clusters or modules of MODEL by the columns of DATA.

    Writes a table (.csv) or a page (.html) with the features that set them apart, and a short name for each.

    \b
    polyfold cluster customers.csv --save groups.polyfold -o groups.csv
    polyfold explain groups.polyfold customers.csv -o explanation.html
    polyfold explain topics.polyfold questions.npz --texts text -o explanation.csv
    """
    from polyfold.cli._commands import explain_file

    _run(explain_file, **options)


@commands.command()
@_options(MODEL, DATA, OUTPUT, SELECT, TEXTS, JSON)
@click.option("--title", help="Title of the report.")
@click.option("--points", type=click.IntRange(10), default=10_000, show_default=True, help="Most points to show.")
def report(**options: Any) -> None:
    """Write an HTML report of MODEL and DATA.

    One HTML file to explore, coloured by --target.

    \b
    polyfold report flowers.polyfold flowers.csv --target species -o flowers.html
    """
    from polyfold.cli._commands import report_file

    _run(report_file, **options)


@commands.command()
@click.option("-o", "--output", default="polyfold-demo", show_default=True, help="Folder of the report.")
@JSON
def demo(**options: Any) -> None:
    """Write an HTML report of all methods on images of heads and digits."""
    from polyfold.cli._commands import run_demo

    _run(run_demo, **options)


@commands.command()
@click.argument("model", required=False)
@JSON
def info(as_json: bool, model: str | None) -> None:
    """Print the contents of a MODEL file.

    Without MODEL, print versions, extras and the models that can be fitted.

    \b
    polyfold info
    polyfold info digits.polyfold --json
    """
    from polyfold.cli._estimators import installation_info, model_info

    about = installation_info() if model is None else model_info(model, with_table=as_json)
    Terminal(as_json).result(about, always=True)
