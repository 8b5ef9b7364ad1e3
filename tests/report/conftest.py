import pytest

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def closed_figures():
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")
