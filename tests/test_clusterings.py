"""The study of clusterings: noise, levels, and runs that continue."""

import numpy as np
import pytest

pytest.importorskip("benchmarks", reason="the source distribution has no benchmarks")
from benchmarks import _record, embed_texts
from benchmarks.labelled import embeddings, load_labelled
from benchmarks.pages import _clusterings
from benchmarks.pages import _markdown as markdown
from benchmarks.rivals import Found, Method
from benchmarks.studies import clusterings

CLASSES = np.repeat([0, 1, 2], 10)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(_record, "RESULTS", tmp_path)
    monkeypatch.setattr(clusterings, "results", lambda study: markdown.results(study, tmp_path))
    return tmp_path


def test_noise_is_one_more_cluster_in_the_scores():
    assert clusterings.scored(CLASSES, CLASSES - 1) == [2, 100.0, 100.0, 33.33]


def test_a_second_call_runs_only_what_is_missing(folder, monkeypatch):
    calls = []

    def cluster(X, c, seed):
        calls.append(seed)
        return Found(np.zeros(len(X), dtype=int), [])

    monkeypatch.setattr(clusterings, "warm_up", lambda *_: None)
    methods = {"seeded": Method("rows", cluster, True), "not seeded": Method("rows", cluster, True, is_seeded=False)}
    for seeds in ([0], [0, 1]):
        clusterings.run_all("rivals", methods, folder, ["iris"], seeds, again=False)
    assert calls == [0, 0, 1]
    runs = clusterings.run_all("rivals", {"seeded": methods["seeded"]}, folder, ["iris"], [1], again=True)
    assert calls == [0, 0, 1, 1]
    assert runs["iris"]["seeded"]["1"]["labels"] == [1, 0.0, 0.0, 0.0]


def test_the_tables_show_the_best_level_and_the_default_level():
    run = {"cpu": 2.0, "labels": [2, 40.0, 30.0, 10.0], "levels": [[2, 40.0, 30.0, 10.0], [9, 70.0, 60.0, 0.0]]}
    text = _clusterings.section({"sets": {"orl_32": {"rows": 400}}, "rivals": {"orl_32": {"EVoC": {"0": run}}}})
    default, best = text.index("| EVoC | 40.0 |"), text.index("| EVoC | 70.0 |")
    assert default < best


def test_texts_are_read_once_and_small_classes_are_left_out(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("text,class\na,x\nb,x\na,x\n ,x\nc,y\n")
    texts, classes = embed_texts.read_texts(path)
    assert (texts, classes) == (["a", "b", "c"], ["x", "x", "y"])
    assert embed_texts.draw(classes, None, smallest=2).tolist() == [0, 1]
    assert len(embed_texts.draw(classes, 2, smallest=1)) == 2


def test_embeddings_are_found_by_their_file_name(tmp_path):
    np.savez(tmp_path / "some_minilm.npz", X=np.eye(4, dtype=np.float16), y=[5, 5, 7, 9])
    assert embeddings(tmp_path) == ("some_minilm",)
    sample = load_labelled("some_minilm", tmp_path)
    assert (sample.metric, sample.X.dtype, sample.n_classes) == ("cosine", np.float32, 3)
