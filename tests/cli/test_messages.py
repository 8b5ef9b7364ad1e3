"""Messages speak of options, and of nothing that only Python shows."""

import numpy as np
import pytest

pytest.importorskip("click")
pytest.importorskip("pandas")


def test_parameters_are_called_by_their_options(refused):
    refused("cluster :digits.npy -n 500 -o g.npy", "error: -n/--clusters must be <=")
    refused("cluster :digits.npy -n 0 -o g.npy", "error: -n/--clusters must be an integer >= 1, got 0")
    refused("cluster :digits.npy -n 3 --set noise=2 -o g.npy", "error: --set noise must be")
    refused("fit :digits.npy --set n_modules=0 -o m.polyfold", "error: --set n_modules must be an integer >= 1")
    refused("map :digits.npy --set layout=tsne --set n_components=3 -o m.npy", "pass --set layout=umap")


def test_a_guess_is_told_without_attributes(call, rng):
    np.save("noise.npy", rng.standard_normal((60, 4)))
    call("cluster noise.npy --set n_init=1 --set network__n_clusterings=20 -o g.npy")
    assert "note: -n/--clusters auto found" in call.notes
    assert "_scores_" not in call.notes


def test_closed_streams_are_no_error(run, shared, tmp_path, monkeypatch):
    """As in programs without a console."""
    words = ["transform", str(shared / "digits.polyfold"), str(shared / "digits.npy"), "-o", str(tmp_path / "z.npy")]
    monkeypatch.setattr("sys.stdout", None)
    monkeypatch.setattr("sys.stderr", None)
    assert run([*words, "--json"]) == 0
    assert run([*words, "--drop", "99"]) == 2


@pytest.mark.parametrize("command", [["fit"], ["cluster", "-n", "3"], ["map"]])
def test_a_misspelt_target_is_no_feature(command, run, shared, tmp_path, capsys):
    output = tmp_path / ("a.polyfold" if command == ["fit"] else "a.csv")
    call = [*command[:1], str(shared / "iris.csv"), *command[1:], "--target", "speceis", "-o", str(output)]
    assert run(call) == 2
    assert "--target must be a file, or one of" in capsys.readouterr().err
    assert not output.exists()


def test_a_misspelt_parameter_has_a_neighbour(run, shared, tmp_path, capsys):
    call = ["fit", str(shared / "iris.csv"), "--set", "n_module=3", "-o", str(tmp_path / "a.polyfold")]
    assert run(call) == 2
    assert "no parameter 'n_module' for --set to set; it has n_modules" in capsys.readouterr().err


def test_a_missing_model_is_named(run, shared, tmp_path, capsys):
    assert run(["transform", "none.polyfold", str(shared / "iris.csv"), "-o", str(tmp_path / "z.npy")]) == 2
    assert "none.polyfold must be a file, but there is none." in capsys.readouterr().err


def test_a_model_that_is_not_there_has_a_neighbour(run, shared, tmp_path, capsys):
    call = ["fit", str(shared / "iris.csv"), "--model", "ModularKPCA", "-o", str(tmp_path / "a.polyfold")]
    assert run(call) == 2
    assert "(ModularKernelPCA" in capsys.readouterr().err


def test_columns_of_different_units_are_to_be_scaled_by_an_option(call, rng):
    np.save("units.npy", rng.standard_normal((60, 6)) * [1, 1, 1, 1, 1, 1e5])
    quick = "--set n_init=1 --set network__n_clusterings=20"
    call(f"cluster units.npy -n 2 {quick} -o g.npy")
    assert "use --prepare scale" in call.notes
    call(f"cluster units.npy -n 2 {quick} --prepare scale -o g.npy")
    assert "scale" not in call.notes
