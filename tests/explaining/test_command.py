import json

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("click")


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Run the command line in a folder with a table of customers."""
    from polyfold.cli._main import run

    monkeypatch.chdir(tmp_path)
    rng = np.random.RandomState(0)
    group = np.arange(120) % 3
    table = {"income": rng.randn(120) + 6 * (group == 0), "visits": rng.randn(120) - 6 * (group == 1)}
    table["question"] = np.array(["card lost", "loan rate", "app crash"])[group]
    pd.DataFrame(table).to_csv("customers.csv", index=False)

    def call(text, code=0):
        assert run(text.split()) == code
        return capsys.readouterr()

    return call


def test_clusters_of_a_table_are_explained(call, tmp_path):
    call("cluster customers.csv --drop question -n 3 --save groups.polyfold -o groups.csv")
    names = json.loads(call("explain groups.polyfold customers.csv -o explanation.html --json").out)["names"]
    assert {name.split(",")[0] for name in names.values()} >= {"income high", "visits low"}
    page = (tmp_path / "explanation.html").read_text(encoding="utf-8")
    assert all(name in page for name in names.values())
    call("explain groups.polyfold customers.csv --texts question -o explanation.csv")
    frame = pd.read_csv("explanation.csv")
    assert set(frame.kind) == {"number", "word"}
    assert frame[frame.feature == "card lost"].tfidf.max() > 0
    assert len(frame.groupby("part")) == 3


def test_axes_of_a_table_are_explained(call):
    call("fit customers.csv --drop question --model KernelEmbedding -o model.polyfold")
    call("explain model.polyfold customers.csv -o explanation.csv")
    assert set(pd.read_csv("explanation.csv").part) == {"axis 0", "axis 1"}


def test_wrong_columns_and_endings_are_refused(call):
    call("fit customers.csv --drop question --model KernelEmbedding -o model.polyfold")
    assert "--texts must name columns" in call("explain model.polyfold customers.csv --texts nope -o e.csv", 2).err
    assert "must end in .csv, .html" in call("explain model.polyfold customers.csv -o e.npy", 2).err
