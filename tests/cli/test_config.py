"""Settings of a file, for what the command line leaves open."""

import numpy as np
import pytest

import polyfold as pf

pytest.importorskip("click")
pytest.importorskip("pandas")

QUICK = "n_init = 1\nnetwork = 'MultilayerBootstrapNetwork(3, n_classes=3, n_clusterings=20)'\n"


def write(text):
    with open("c.toml", "w") as file:
        file.write(text)


def test_the_command_line_wins_over_the_file(call):
    write(f"[parameters]\nn_clusters = 5\n{QUICK}")
    data = "cluster :digits.npy --config c.toml"
    assert call(f"{data} -o g.npy --json")["clusters"] == 5
    assert call(f"{data} -n 3 -o g.npy --json")["clusters"] == 3
    assert call(f"{data} -n 3 --set n_clusters=4 -o g.npy --json")["clusters"] == 4


def test_parts_of_a_model_that_has_none_can_be_set(call):
    call("cluster :digits.npy -n 3 --set n_init=1 --set network__n_clusterings=20 --save c.polyfold -o g.npy")
    model = pf.load("c.polyfold")
    assert (model.network.n_clusterings, model.network.n_classes) == (20, 3)


def test_a_map_is_coloured_by_the_target_of_the_file(call, monkeypatch):
    pytest.importorskip("matplotlib")
    shown = []
    monkeypatch.setattr("polyfold.cli._placing.draw", lambda path, Z, y: shown.append(y))
    network = "MultilayerBootstrapNetwork(2, n_clusterings=20)"
    write(f'target = "y"\n[parameters]\nlayout = "spectral"\nnetwork = "{network}"\n')
    call("map :digits.npz --config c.toml -o map.png")
    assert len(np.unique(shown[0])) == 10


@pytest.mark.parametrize("drop", ['"species, site"', '["species", "site"]'], ids=["text", "list"])
def test_columns_are_a_list_or_a_text(call, drop):
    write(f"drop = {drop}\n")
    call("fit :iris.csv --config c.toml --set n_modules=2 --set n_components=2 -o m.polyfold")
    assert len(call("info m.polyfold --json")["columns"]) == 5


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("drop = 3", "drop of c.toml must be a list of names, got 3"),
        ("color = 'yes'", "color of c.toml must be true or false"),
        ("target = 1", "target of c.toml must be a text"),
        ("parameters = 1", "must be a table, [parameters]"),
        ("wings = 1", "got 'wings'"),
        ("drop = ", "must be a TOML file"),
    ],
)
def test_settings_of_another_kind_are_refused(refused, text, match):
    write(text)
    refused("fit :iris.csv --config c.toml -o m.polyfold", match)


def test_commands_with_a_model_of_their_own_refuse_another(refused):
    write('model = "KernelEmbedding"')
    refused("cluster :digits.npy --config c.toml -o g.npy", "must be BootstrapClustering for polyfold cluster")
    refused("map :digits.npy --config c.toml -o m.npy", "must be BootstrapMap for polyfold map")


@pytest.mark.parametrize("words", ["-n 3", "--set n_init=1", "--prepare none"])
def test_a_saved_clusterer_is_taken_as_it_is(refused, words):
    refused(f"cluster :digits.npy --with c.polyfold {words} -o g.npy", "--with takes a clusterer as it is")
