"""The commands."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from polyfold.cli._actions import evaluate_file, fit_to_file, report_file, run_demonstration, transform_file
from polyfold.cli._config import Setup, combine, split_names
from polyfold.cli._data import Picked
from polyfold.cli._describing import describe_installation, describe_model
from polyfold.cli._messages import in_options
from polyfold.cli._placing import cluster_file, map_file
from polyfold.cli._prepare import CHOICES
from polyfold.cli._searching import search_file
from polyfold.cli._terminal import Terminal, notes

INTERRUPTED = 130


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 2 after an error, 130 after an interrupt."""
    options = _options(sys.argv[1:] if arguments is None else arguments)
    try:
        with notes(options):
            return commands.main(arguments, prog_name="polyfold", standalone_mode=False) or 0
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except (KeyboardInterrupt, click.exceptions.Abort):
        click.echo("interrupted; nothing was written.", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        return _refuse(error.format_message())
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (the reader has gone; nothing is left to say)
        return 0
    except Exception as error:  # whatever goes wrong is told in a sentence; the place in the code on request
        if os.environ.get("POLYFOLD_DEBUG"):
            raise
        return _refuse(in_options(_sentence(error), options))


def _sentence(error: Exception) -> str:
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.filename} must be a file, but there is none."
    return " ".join(str(error).split()) or type(error).__name__


def _options(arguments: list[str]) -> list[str]:
    """Return the names of all options of the command that is called."""
    called = next((commands.commands[word] for word in arguments if word in commands.commands), None)
    return [] if called is None else [str(option.name) for option in called.params]


def _refuse(message: str) -> int:
    click.echo(f"error: {message}", err=True)
    return 2


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="polyfold")
def commands() -> None:
    """Diverse, non-redundant representations: fit, look, search and cluster from the shell.

    Data are .npy, .npz (dense or CSR), .csv, .parquet or .zarr files, or folders of parquet files, or of PNG or JPEG
    images. Models are files that hold no code.

    \b
    polyfold fit flowers.csv --target species -o flowers.polyfold
    polyfold report flowers.polyfold flowers.csv --target species -o flowers.html
    polyfold cluster flowers.csv --drop species -o groups.csv
    """


Command = Callable[..., Any]


def _with(*options: Command) -> Command:
    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


DATA = click.argument("data")
MODEL = click.argument("model")
OUTPUT = click.option("-o", "--output", required=True, help="File to write.")
SEED = click.option("--seed", type=int, default=0, show_default=True, help="Seed of all randomness; -1 for none.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
CLUSTER = click.option(
    "--cluster", metavar="ADDRESS", help="Dask scheduler whose workers do it, such as tcp://host:8786."
)
PICK = _with(
    click.option("--target", help="Column, array of an .npz file, 'folder' of images, or file with the targets."),
    click.option(
        "--columns", help="Columns to use, separated by commas; numbers such as 0-9,12 where they have no names."
    ),
    click.option("--drop", help="Columns to leave out."),
    click.option("--array", help="Array of an .npz file that holds the rows."),
    click.option("--size", help="Width and height to which images are brought, such as 32x32."),
    click.option("--color", is_flag=True, help="Read images in colour; grey without."),
)
SETUP = _with(
    click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Parameter of the model; repeatable."),
    click.option(
        "--config",
        type=click.Path(),
        help="TOML file with model, options and [parameters], for what the command line leaves open.",
    ),
    click.option(
        "--prepare",
        type=click.Choice(CHOICES),
        help="auto: tables are imputed, scaled and encoded, arrays imputed if values are missing; none; impute; scale.",
    ),
    click.option("--categorical", help="Columns of numbers that are categories, separated by commas."),
)


def _picked(options: dict[str, Any]) -> Picked:
    """Take the options that pick columns out of all options."""
    columns, drop = (split_names(options.pop(name, None)) for name in ("columns", "drop"))
    rest = {name: options.pop(name, None) for name in ("target", "array", "size")}
    return Picked(columns, drop, **rest, color=bool(options.pop("color", False)))


def _setup(options: dict[str, Any], model: str | None = None, given: dict[str, Any] | None = None) -> Setup:
    """Take the options that say how to fit out of all options."""
    taken = {name: options.pop(name) for name in ("config", "settings", "prepare", "categorical")}
    return combine(_picked(options), **taken, seed=_seed(options), model=model, given=given)


def _seed(options: dict[str, Any]) -> int | None:
    seed = options.pop("seed")
    return None if seed == -1 else seed


def _act(action: Command, as_json: bool, always: bool = False, **options: Any) -> None:
    """Run an action and show its figures with the seconds it took."""
    terminal, start = Terminal(as_json), time.perf_counter()
    figures = action(terminal=terminal, **options)
    terminal.result({**figures, "seconds": round(time.perf_counter() - start, 2)}, always=always)


@commands.command()
@_with(DATA, OUTPUT, SETUP, PICK, SEED, CLUSTER, JSON)
@click.option("--model", "name", help="Class to fit; default ModularKernelPCA. `polyfold info` lists them.")
@click.option("--stream/--no-stream", default=None, help="Fit block by block; by default where memory is too small.")
def fit(as_json: bool, **options: Any) -> None:
    """Fit a model to DATA and save it.

    Without --model it is ModularKernelPCA: 15 modules of 20 dimensions, or fewer where the data have fewer columns;
    --set n_modules and --set n_components choose otherwise.

    \b
    polyfold fit digits.npz -o digits.polyfold
    polyfold fit flowers.csv --target species --model ModularClassifier \\
        --set representation__n_modules=5 --set "estimator=sklearn.linear_model.LogisticRegression()" -o f.polyfold
    polyfold fit huge.zarr --stream --set n_modules=15 --set "kernel=Gaussian(gamma=0.1)" -o huge.polyfold
    polyfold fit huge.zarr --cluster tcp://scheduler:8786 -o huge.polyfold
    polyfold fit photos/ --size 32x32 --config model.toml -o photos.polyfold
    """
    _act(fit_to_file, as_json, setup=_setup(options, options.pop("name")), **options)


@commands.command()
@_with(MODEL, DATA, OUTPUT, PICK, CLUSTER, JSON)
@click.option("--reconstruct", is_flag=True, help="Write what the codes give back; into a folder: as images.")
def transform(as_json: bool, **options: Any) -> None:
    """Write the coordinates that MODEL gives to DATA.

    Block by block.

    \b
    polyfold transform digits.polyfold new.npy -o z.parquet
    polyfold transform autoencoder.polyfold digits.npz --reconstruct --size 8x8 -o pictures/
    """
    _act(transform_file, as_json, picked=_picked(options), **options)


@commands.command()
@_with(MODEL, DATA, OUTPUT, PICK, CLUSTER, JSON)
@click.option("--queries", help="File of the rows whose neighbours are sought; without, all of DATA.")
@click.option("-k", "--neighbors", type=click.IntRange(1), default=10, show_default=True, help="How many.")
@click.option("--modules", type=click.IntRange(1), help="Scan only the first so many modules; all by default.")
@click.option("--expand", type=click.IntRange(1), help="Candidates from each module, which all modules rank.")
@click.option("--deadline", type=float, help="With --cluster: seconds after which rows that have answered count.")
@click.option("--graph", is_flag=True, help="Write the graph of distances as a CSR .npz file.")
def search(as_json: bool, **options: Any) -> None:
    """Find the nearest rows of DATA by MODEL.

    Writes the numbers of the rows, from 0, and in .npz files their distances as well.

    \b
    polyfold search digits.polyfold digits.npz --queries new.npy -k 5 -o found.csv
    polyfold search digits.polyfold digits.npz --graph -o graph.npz
    polyfold search huge.polyfold huge.zarr --queries new.npy --cluster tcp://scheduler:8786 --deadline 5 -o found.npz
    """
    _act(search_file, as_json, picked=_picked(options), **options)


@commands.command()
@_with(DATA, OUTPUT, SETUP, PICK, SEED, CLUSTER, JSON)
@click.option("-n", "--clusters", help="Number of clusters, or auto, the default; before that of --config.")
@click.option("--with", "model", help="Saved clusterer to use as it is.")
@click.option("--save", help="File for the fitted clusterer.")
def cluster(as_json: bool, **options: Any) -> None:
    """Group the rows of DATA.

    Writes the number of every row's group.

    \b
    polyfold cluster flowers.csv --drop species -n 3 --save groups.polyfold -o groups.csv
    polyfold cluster new.csv --with groups.polyfold -o new_groups.csv
    polyfold cluster digits.npz -n 10 --set network__n_clusterings=200 -o groups.npy
    """
    given = {} if (number := _number(options.pop("clusters"))) is None else {"n_clusters": number}
    fresh = {"-n": given, "--set": options["settings"], "--config": options["config"], "--prepare": options["prepare"]}
    if options["model"] and (named := [name for name, value in fresh.items() if value]):
        raise click.UsageError(f"--with takes a clusterer as it is, got {named[0]} as well; leave out one of them.")
    _act(cluster_file, as_json, setup=_setup(options, given=given), address=options.pop("cluster"), **options)


def _number(clusters: str | None) -> int | str | None:
    if clusters is None or clusters == "auto":
        return clusters
    if not clusters.isdigit():
        raise click.UsageError(f"-n/--clusters must be a number or auto, got {clusters!r}.")
    return int(clusters)


@commands.command(name="map")
@_with(DATA, OUTPUT, SETUP, PICK, SEED, JSON)
@click.option("--save", help="File for the fitted map.")
def map_(as_json: bool, **options: Any) -> None:
    """Lay out the rows of DATA in two dimensions.

    Writes coordinates, or a picture (.png, .svg, .pdf) that is coloured by --target.

    \b
    polyfold map digits.npz --target y -o map.png
    polyfold map flowers.csv --drop species -o map.csv
    """
    _act(map_file, as_json, setup=_setup(options), **options)


@commands.command()
@_with(MODEL, DATA, PICK, SEED, JSON)
def evaluate(as_json: bool, **options: Any) -> None:
    """Say how good MODEL is on DATA.

    The share of neighbours that are kept, how alike the modules are, and accuracies where there are targets.

    \b
    polyfold evaluate digits.polyfold digits.npz --target y
    """
    _act(evaluate_file, as_json, always=True, picked=_picked(options), seed=_seed(options), **options)


@commands.command()
@_with(MODEL, DATA, OUTPUT, PICK, JSON)
@click.option("--title", help="Title of the page.")
@click.option("--points", type=click.IntRange(10), default=10_000, show_default=True, help="Most points to show.")
def report(as_json: bool, **options: Any) -> None:
    """Write a page to explore MODEL and DATA.

    One HTML file, coloured by --target.

    \b
    polyfold report flowers.polyfold flowers.csv --target species -o flowers.html
    """
    _act(report_file, as_json, picked=_picked(options), **options)


@commands.command()
@click.option("-o", "--output", default="polyfold-demo", show_default=True, help="Folder of the report.")
@JSON
def demo(as_json: bool, output: str) -> None:
    """Show on bundled digits what polyfold does."""
    _act(run_demonstration, as_json, output=Path(output))


@commands.command()
@click.argument("model", required=False)
@JSON
def info(as_json: bool, model: str | None) -> None:
    """Say what a MODEL file holds.

    Without one, what is installed and can be fitted.

    \b
    polyfold info
    polyfold info digits.polyfold --json
    """
    terminal = Terminal(as_json)
    terminal.result(describe_installation() if model is None else describe_model(model), always=True)
