"""Parameters from --set and from a TOML file."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import polyfold as pf

pytest.importorskip("click")
pytest.importorskip("pandas")

QUICK = """[parameters]
n_clusters = 5
network = {class = "MultilayerBootstrapNetwork", n_components = 3, n_classes = 3, n_clusterings = 20}
"""


def write(text):
    with open("c.toml", "w") as file:
        file.write(text)


def test_set_takes_numbers_text_booleans_and_lists(run):
    from polyfold.cli._estimators import parse_settings

    settings = ["a=3", "b=1e-3", "c=rbf", "d=true", "e=False", "f=[1, 2]", "g=None", "h=x=y", "i='3'"]
    expected = {"a": 3, "b": 1e-3, "c": "rbf", "d": True, "e": False, "f": [1, 2], "g": None, "h": "x=y", "i": "3"}
    assert parse_settings(settings) == expected


def test_objects_come_from_a_file_and_set_wins(call):
    write('model = "KernelEmbedding"\n[parameters]\nn_components = 3\nkernel = {class = "Gaussian", gamma = 0.5}\n')
    call("fit :digits.npy --config c.toml --set n_components=4 -o m.polyfold")
    model = pf.load("m.polyfold")
    assert (model.n_components, model.kernel.gamma, model.random_state) == (4, 0.5, 0)


def test_estimators_of_scikit_learn_are_found_by_their_path(call, refused):
    write('[parameters.estimator]\nclass = "sklearn.neighbors.NearestCentroid"\n')
    options = "--target y --model ModularClassifier --set representation__n_modules=4 --config c.toml"
    call(f"fit :digits.npz {options} -o c.polyfold")
    assert call("evaluate c.polyfold :digits.npz --target y --json")["accuracy"] > 0.7
    refused("fit :digits.npz --model ModularClassifier -o d.polyfold", "needs --target")
    refused("evaluate c.polyfold :digits.npz", "--target is needed")


def test_the_command_line_wins_over_the_file(call):
    write(QUICK)
    data = "cluster :digits.npy --config c.toml"
    assert call(f"{data} -o g.npy --json")["clusters"] == 5
    assert call(f"{data} -n 3 -o g.npy --json")["clusters"] == 3
    assert call(f"{data} -n 3 --set n_clusters=4 -o g.npy --json")["clusters"] == 4


def test_parameters_of_the_network_can_be_set(call):
    call("cluster :digits.npy -n 3 --set network__n_clusterings=20 --save c.polyfold -o g.npy")
    model = pf.load("c.polyfold")
    assert (model.network.n_clusterings, model.network.n_classes) == (20, 3)


@pytest.mark.parametrize(
    "model",
    [
        pf.BootstrapClustering(3),
        pf.BootstrapClustering(),
        pf.BootstrapMap(3, layout="spectral"),
        pf.BootstrapNeighborsTransformer(),
    ],
    ids=["clusters", "auto", "map", "neighbors"],
)
def test_other_parameters_of_the_network_keep_the_defaults_of_its_owner(model):
    from polyfold.cli._estimators import make_estimator

    X = load_iris().data
    own = {key: value for key, value in model.get_params(deep=False).items() if key != "network"}
    made = make_estimator(type(model).__name__, own | {"network__decay": 0.4}, seed=None)
    changed, default = made.fit(X).network_.get_params(), model.fit(X).network_.get_params()
    assert {key for key in default if default[key] != changed[key]} - {"random_state"} == {"decay"}


def test_a_map_is_coloured_by_the_target_of_the_file(call, monkeypatch):
    pytest.importorskip("matplotlib")
    shown = []
    monkeypatch.setattr("polyfold.cli._commands.draw", lambda path, Z, y: shown.append(y))
    write('target = "y"\n[parameters]\nlayout = "spectral"\n')
    call("map :digits.npz --config c.toml --set network__n_clusterings=20 -o map.png")
    assert len(np.unique(shown[0])) == 10


@pytest.mark.parametrize("drop", ['"species, site"', '["species", "site"]'], ids=["text", "list"])
def test_columns_are_a_list_or_text(call, drop):
    write(f"drop = {drop}\n")
    call("fit :iris.csv --config c.toml --set n_modules=2 --set n_components=2 -o m.polyfold")
    assert len(call("info m.polyfold --json")["columns"]) == 5


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("drop = 3", "--drop must name columns of"),
        ("color = 'sometimes'", "'sometimes' is not a valid boolean"),
        ("target = 1", "--target must be a column of"),
        ("prepare = 'wings'", "'wings' is not one of 'auto', 'none', 'impute', 'scale'"),
        ("parameters = 1", "must be a table, [parameters]"),
        ("[parameters]\nkernel = {gamma = 1}", "must name its class"),
        ("[parameters]\nkernel = {class = 'Gaussian', wings = 1}", "Gaussian cannot be made with wings"),
        ("[parameters]\nkernel = {class = 'os.system'}", "must be a class of polyfold"),
        ("wings = 1", "got 'wings'"),
        ("drop = ", "cannot be read as TOML"),
    ],
)
def test_entries_of_another_type_are_refused(refused, text, match):
    write(text)
    refused("fit :iris.csv --config c.toml -o m.polyfold", match)


def test_a_file_holds_options_of_its_command(call, refused):
    write('model = "KernelEmbedding"')
    refused("cluster :digits.npy --config c.toml -o g.npy", "options of polyfold cluster, got 'model'")
    refused("map :digits.npy --config c.toml -o m.npy", "options of polyfold map, got 'model'")
    write('clusters = 4\nkernel = "laplacian_eigenmaps"\nset = ["n_jobs=1"]\njson = true')
    assert call("cluster :digits.npy --config c.toml --json -o g.npy")["clusters"] == 4


@pytest.mark.parametrize("words", ["-n 3", "--set layer=0", "--prepare none", "--categorical a"])
def test_a_saved_clusterer_takes_no_parameters(refused, words):
    refused(f"cluster :digits.npy --with c.polyfold {words} -o g.npy", "--with applies a saved clusterer")


ERRORS = [
    ("--set n_modules", "name=value"),
    ("--set n_modules=0", "n_modules must be an integer >= 1"),
    ("--set wings=2", "Invalid parameter 'wings' for estimator ModularKernelPCA"),
    ("--set kernel__wings=2", "needs an object as kernel, got 'rbf'"),
    ("--set kernel=Gaussian(gamma=2)", "write objects in a TOML file (--config), for example [parameters] kernel = {"),
    ("--model Wings", "must be a class of polyfold (it has BaggingAutoencoder, "),
    ("--model KernelEmbeding", "must be a class of polyfold (the nearest name is 'KernelEmbedding')"),
    ("--model Gaussian", "Gaussian cannot be fitted; choose from "),
    ("--model Compressed", "Compressed needs estimator; write it in a TOML file"),
    ("--config nothing.toml", "nothing.toml does not exist"),
]


@pytest.mark.parametrize(("options", "match"), ERRORS, ids=[options for options, _ in ERRORS])
def test_wrong_parameters_are_refused(refused, options, match):
    refused(f"fit :digits.npy {options} -o m.polyfold", match)
