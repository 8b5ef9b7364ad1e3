"""The catalogue contains every public estimator and kernel, and every exemption names a property that is tested."""

import inspect
import types
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import polyfold as pf
from polyfold import kernels
from tests.catalog import ALL_KERNELS, ENTRIES, GRAPH, ONE_EACH, POINTWISE, Entry, entries
from tests.contracts.answers import documented_warnings
from tests.contracts.samples import sheet

# Kernels that take what the user computed are in the catalogue as estimators on precomputed input.
GIVEN = {"precomputed"}
PROPERTIES = {
    *("origin", "scale", "order", "rotation", "copies", "constant_columns", "huge", "train", "chunks", "blocks"),
    *("uint8", "single", "sparse", "sparse_values", "scikit_learn", "table"),
}


def public_estimators(package=pf):
    """Classes with `fit` in `__all__` of the package and of the packages in it."""
    found = set()
    for name in package.__all__:
        value = getattr(package, name)
        if isinstance(value, types.ModuleType) and hasattr(value, "__all__"):
            found |= public_estimators(value)
        elif inspect.isclass(value) and issubclass(value, BaseEstimator) and hasattr(value, "fit"):
            found.add(value)
    return found


def missing_estimators(catalogue):
    """Names of public estimators that no entry is of."""
    return sorted(cls.__name__ for cls in public_estimators() - {type(e.estimator) for e in catalogue})


def kernel_of(entry):
    """Class of an entry's kernel, or None."""
    kernel = entry.estimator.get_params(deep=False).get("kernel")
    return None if kernel in (None, "auto") else type(kernels.as_kernel(kernel))


def test_every_public_estimator_is_in_the_catalogue():
    assert missing_estimators(ENTRIES) == []


def test_a_missing_estimator_is_noticed():
    rest = [e for e in ENTRIES if not isinstance(e.estimator, pf.Compressed)]
    assert "Compressed" in missing_estimators(rest)


def test_every_registered_kernel_is_in_the_catalogue():
    listed = {type(kernels.as_kernel(kernel)) for kernel in (*POINTWISE.values(), *GRAPH.values(), *GIVEN)}
    assert {name for name, cls in kernels.KERNELS.items() if cls not in listed} == set()


def test_every_public_kernel_is_in_the_catalogue():
    """A kernel is what is public in `polyfold.kernels`, has parameters, and makes values or an operator of data."""
    listed = {kernel_of(entry) for entry in ENTRIES}
    public = [getattr(kernels, name) for name in kernels.__all__]
    concrete = {
        cls for cls in public if inspect.isclass(cls) and issubclass(cls, BaseEstimator) and not inspect.isabstract(cls)
    }
    assert {cls.__name__ for cls in concrete - listed} == set()


@pytest.mark.parametrize("name", ALL_KERNELS)
@pytest.mark.parametrize("make", [pf.NonRedundantEmbedding, pf.ModularKernelPCA])
def test_every_kernel_works_with_every_principle(make, name):
    """The contracts try every kernel with one principle; the others fit and transform once."""
    kernel = ALL_KERNELS[name]
    model = make(n_components=2, kernel=kernel if callable(kernel) else clone(kernel), random_state=0)
    with documented_warnings():
        Z = model.fit(sheet(20)).transform(sheet(25)[20:])
    assert len(Z) == 5
    assert np.isfinite(Z).all()


def test_one_entry_of_each_class_is_chosen():
    assert {type(e.estimator) for e in ONE_EACH} == {type(e.estimator) for e in ENTRIES}
    assert {e.takes for e in ONE_EACH} == {"rows", "kernel", "distances"}


def test_names_are_unique_and_those_of_their_estimators():
    names = [e.name for e in ENTRIES]
    assert len(set(names)) == len(names)
    assert all(e.name.partition("-")[0] == type(e.estimator).__name__ for e in ENTRIES)


def test_exemptions_are_of_known_properties_and_have_reasons():
    for entry in ENTRIES:
        assert set(entry.exempt) <= PROPERTIES, entry.name
        assert all(len(reason.split()) >= 4 for reason in entry.exempt.values()), entry.name


def test_every_property_is_asked_for_somewhere():
    asked = "".join(
        path.read_text() for path in sorted(Path(__file__).parent.glob("test_*.py")) if path != Path(__file__)
    )
    assert {name for name in PROPERTIES if f'"{name}"' not in asked} == set()


def test_exempt_entries_are_left_out():
    free, bound = Entry("a", None), Entry("b", None, exempt={"origin": "a reason of four words"})
    assert entries("origin", only=[free, bound]) == [free]
    assert entries("scale", only=[free, bound]) == [free, bound]
