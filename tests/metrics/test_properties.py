"""What must not matter does not: every metric under other origins, units, orders, axes, types and layouts."""

from dataclasses import dataclass, field

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from polyfold import metrics
from polyfold.metrics import __all__ as names


@dataclass(frozen=True)
class Case:
    """One metric: how to draw its arguments, and what may be done to them.

    `rows` gives the axis of the points of every argument, `origin` and `rotation` the arguments that may be moved and
    turned, `scale` the power of the common factor each argument takes and `degree` that of the result; `moves` says
    that the result moves with the origin, `listed` on which axis the result lists the points.
    """

    draw: object
    score: object
    rows: dict
    origin: tuple = ()
    rotation: tuple = ()
    scale: dict = field(default_factory=dict)
    degree: int = 0
    moves: bool = False
    listed: int | None = None


def curve(**arguments):
    return np.concatenate(metrics.average_accuracy_curve(**arguments))


def points(rng, n):
    Z = rng.standard_normal((n, 3))
    return {"Z": Z, "X": np.column_stack([np.sin(Z), Z[:, 0] * Z[:, 1]]) + 0.1 * rng.standard_normal((n, 4))}


def draw_pair(rng, n):
    drawn = points(rng, n)
    return {"X": drawn["Z"], "Y": drawn["X"]}


def draw_modules(rng, n):
    return {"modules": rng.standard_normal((3, n, 2))}


def draw_kernel(rng, n):
    A = rng.standard_normal((n, 4))
    return {"Z": rng.standard_normal((n, 2)), "K": A @ A.T}


def draw_labels(rng, n):
    return {"y_true": rng.integers(0, 3, n), "y_pred": rng.integers(0, 4, n)}


def draw_signal(rng, n):
    X = rng.standard_normal((n, 3))
    return {"X": X, "X_rebuilt": X + 0.1 * rng.standard_normal((n, 3))}


CASES = {
    "average_accuracy_curve": Case(
        lambda rng, n: {"Z": rng.standard_normal((n, 3)), "labels": rng.integers(0, 3, n)},
        curve,
        rows={"Z": 0, "labels": 0},
        origin=("Z",),
        rotation=("Z",),
        scale={"Z": 1},
    ),
    "clustering_accuracy": Case(draw_labels, metrics.clustering_accuracy, rows={"y_true": 0, "y_pred": 0}),
    "nmi": Case(draw_labels, metrics.nmi, rows={"y_true": 0, "y_pred": 0}),
    "distance_correlation": Case(
        draw_pair,
        metrics.distance_correlation,
        rows={"X": 0, "Y": 0},
        origin=("X", "Y"),
        rotation=("X", "Y"),
        scale={"X": 1, "Y": -1},
    ),
    "module_fidelity": Case(
        lambda rng, n: {**draw_modules(rng, n), "X": rng.standard_normal((n, 4))},
        metrics.module_fidelity,
        rows={"modules": 1, "X": 0},
        origin=("modules", "X"),
        rotation=("modules", "X"),
        scale={"modules": 1, "X": -1},
    ),
    "module_correlation": Case(
        draw_modules,
        metrics.module_correlation,
        rows={"modules": 1},
        origin=("modules",),
        rotation=("modules",),
        scale={"modules": 1},
    ),
    "ensemble_errors": Case(
        lambda rng, n: {"predictions": rng.integers(0, 3, (4, n)), "y": rng.integers(0, 3, n)},
        metrics.ensemble_errors,
        rows={"predictions": 1, "y": 0},
    ),
    "majority_vote": Case(
        lambda rng, n: {"predictions": rng.integers(0, 3, (4, n))},
        metrics.majority_vote,
        rows={"predictions": 1},
        listed=0,
    ),
    "inner_product_loss": Case(
        draw_kernel,
        metrics.inner_product_loss,
        rows={"Z": 0, "K": (0, 1)},
        rotation=("Z",),
        scale={"Z": 1, "K": 2},
        degree=4,
    ),
    "modular_loss": Case(
        lambda rng, n: {**draw_modules(rng, n), "K": draw_kernel(rng, n)["K"], "diversity": 0.3},
        metrics.modular_loss,
        rows={"modules": 1, "K": (0, 1)},
        rotation=("modules",),
        scale={"modules": 1, "K": 2},
        degree=4,
    ),
    "redundancy": Case(
        lambda rng, n: {"Z": np.hstack(list(points(rng, n).values())), "n_queries": None},
        metrics.redundancy,
        rows={"Z": 0},
        origin=("Z",),
        scale={"Z": 1},
    ),
    "loo_reconstruction": Case(
        points,
        metrics.loo_reconstruction,
        rows={"Z": 0, "X": 0},
        origin=("Z", "X"),
        rotation=("Z",),
        scale={"Z": -1, "X": 1},
        degree=1,
        moves=True,
        listed=0,
    ),
    "psnr": Case(
        draw_signal,
        metrics.psnr,
        rows={"X": 0, "X_rebuilt": 0},
        origin=("X+X_rebuilt",),
        scale={"X": 1, "X_rebuilt": 1},
    ),
    "retrieval_precision": Case(
        lambda rng, n: {"found": rng.integers(-1, 9, (n, 3)), "truth": rng.integers(0, 9, (n, 4))},
        metrics.retrieval_precision,
        rows={"found": 0, "truth": 0},
    ),
}

few = settings(max_examples=8, deadline=None, derandomize=True, database=None)
seeds, sizes = st.integers(0, 2**32 - 1), st.integers(2, 30)


def having(attribute):
    chosen = [name for name, case in CASES.items() if getattr(case, attribute)]
    return pytest.mark.parametrize("case", [CASES[name] for name in chosen], ids=chosen)


def everything(test):
    return pytest.mark.parametrize("case", list(CASES.values()), ids=list(CASES))(test)


def value(case, arguments):
    return np.asarray(case.score(**arguments), dtype=np.float64)


def changed(arguments, changes):
    return {name: changes[name](value) if name in changes else value for name, value in arguments.items()}


def test_every_metric_is_in_the_table():
    assert set(CASES) == set(names) - {"EnsembleErrors"}


@having("origin")
@few
@given(seed=seeds, n=sizes, spreads=st.floats(-1e6, 1e6))
def test_origin_does_not_matter(case, seed, n, spreads):
    rng = np.random.default_rng(seed)
    arguments = case.draw(rng, n)
    expected = value(case, arguments)
    for together in case.origin:
        offset = spreads * rng.standard_normal()
        arguments = changed(arguments, {name: lambda a, o=offset: a + o for name in together.split("+")})
    shift = offset if case.moves else 0.0
    np.testing.assert_allclose(value(case, arguments) - shift, expected, rtol=1e-5, atol=1e-6)


@having("scale")
@few
@given(seed=seeds, n=sizes, power=st.integers(-200, 200))
def test_unit_does_not_matter(case, seed, n, power):
    arguments = case.draw(np.random.default_rng(seed), n)
    expected = value(case, arguments)
    other = changed(arguments, {name: lambda a, d=d: a * 2.0 ** (d * power) for name, d in case.scale.items()})
    np.testing.assert_allclose(value(case, other) * 2.0 ** (-case.degree * power), expected, rtol=1e-12)


@everything
@few
@given(seed=seeds, n=sizes)
def test_order_of_points_does_not_matter(case, seed, n):
    rng = np.random.default_rng(seed)
    arguments, order = case.draw(rng, n), rng.permutation(n)
    expected = value(case, arguments)
    for name, axes in case.rows.items():
        for axis in np.atleast_1d(axes):
            arguments = changed(arguments, {name: lambda a, axis=axis: np.take(a, order, axis=axis)})
    if case.listed is not None:
        expected = np.take(expected, order, axis=case.listed)
    np.testing.assert_allclose(value(case, arguments), expected, rtol=1e-6, atol=1e-8)


@having("rotation")
@few
@given(seed=seeds, n=sizes)
def test_axes_do_not_matter(case, seed, n):
    rng = np.random.default_rng(seed)
    arguments = case.draw(rng, n)
    expected = value(case, arguments)
    for name in case.rotation:
        p = arguments[name].shape[-1]
        Q = np.linalg.qr(rng.standard_normal((p, p)))[0]
        arguments = changed(arguments, {name: lambda a, Q=Q: a @ Q})
    np.testing.assert_allclose(value(case, arguments), expected, rtol=1e-6, atol=1e-8)


LAYOUTS = {
    "list": lambda a: a.tolist(),
    "fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "read-only": lambda a: np.frombuffer(a.tobytes(), dtype=a.dtype).reshape(a.shape),
}


@everything
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_layout_does_not_matter(case, layout):
    arguments = case.draw(np.random.default_rng(0), 12)
    other = changed(arguments, dict.fromkeys(case.rows, layout))
    np.testing.assert_allclose(value(case, other), value(case, arguments), rtol=1e-9)


@everything
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.float16, np.float32])
def test_numbers_count_and_not_their_type(case, dtype):
    """Integers do not wrap, and short floats are reckoned with in full."""
    arguments = case.draw(np.random.default_rng(0), 12)
    if case.scale:
        arguments = changed(arguments, dict.fromkeys(case.rows, lambda a: np.round(20 * (a - a.min()))))
    if dtype == np.uint8 and "found" in arguments:
        arguments["found"] = np.abs(arguments["found"])
    whole = dict.fromkeys([n for n in case.rows if dtype not in (np.float16, np.float32) or case.scale], dtype)
    other = changed(arguments, {name: lambda a: np.minimum(a, 250).astype(dtype) for name in whole})
    same = changed(arguments, {name: lambda a: np.minimum(a, 250) for name in whole})
    np.testing.assert_allclose(value(case, other), value(case, same), rtol=1e-12)


@everything
def test_arguments_are_left_alone(case):
    arguments = case.draw(np.random.default_rng(0), 12)
    before = {name: np.array(a) for name, a in arguments.items()}
    value(case, arguments)
    for name, a in arguments.items():
        np.testing.assert_array_equal(a, before[name])


@everything
def test_too_few_points_are_named(case):
    arguments = case.draw(np.random.default_rng(0), 12)
    first = next(iter(case.rows))
    axis = np.atleast_1d(case.rows[first])[0]
    with pytest.raises(ValueError, match=rf"{first} must .*got .*; "):
        case.score(**{**arguments, first: np.take(arguments[first], [], axis=axis)})


@pytest.mark.parametrize("name", [n for n, case in CASES.items() if len(case.rows) > 1])
def test_points_that_do_not_match_are_named(name):
    case = CASES[name]
    arguments = case.draw(np.random.default_rng(0), 12)
    first = next(iter(case.rows))
    axis = np.atleast_1d(case.rows[first])[0]
    with pytest.raises(ValueError, match=r"must .*1[12].*; pass"):
        case.score(**{**arguments, first: np.take(arguments[first], range(11), axis=axis)})


@pytest.mark.parametrize("name", sorted(set(CASES) - {"psnr"}))  # signals have any number of axes
def test_wrong_number_of_axes_is_named(name):
    case = CASES[name]
    arguments = case.draw(np.random.default_rng(0), 12)
    first = next(iter(case.rows))
    with pytest.raises(ValueError, match=rf"{first} must have .*got "):
        case.score(**{**arguments, first: arguments[first][None, ..., None]})


@having("scale")
def test_not_a_number_is_refused(case):
    arguments = case.draw(np.random.default_rng(0), 12)
    first = next(iter(case.rows))
    with pytest.raises(ValueError, match=f"Input {first} contains NaN"):
        case.score(**changed(arguments, {first: lambda a: np.where(a == a.max(), np.nan, a)}))


@pytest.mark.parametrize(("name", "argument"), [("distance_correlation", "Y"), ("module_fidelity", "X")])
@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_features_are_taken_where_only_distances_count(name, argument, form):
    case = CASES[name]
    arguments = case.draw(np.random.default_rng(0), 12)
    other = changed(arguments, {argument: form})
    np.testing.assert_allclose(value(case, other), value(case, arguments), rtol=1e-7)


def test_duplicate_entries_of_a_sparse_matrix_are_summed(rng):
    X, Y = rng.standard_normal((20, 2)), sp.random(20, 4, density=0.5, format="csr", random_state=0)
    parts = (np.repeat(Y.data / 2, 2), np.repeat(Y.indices, 2), 2 * Y.indptr)
    twice = sp.csr_array(parts, shape=Y.shape)
    assert twice.nnz == 2 * Y.nnz
    assert metrics.distance_correlation(X, twice) == pytest.approx(metrics.distance_correlation(X, Y.toarray()))


DENSE = sorted(set(CASES) - {"distance_correlation"})


@pytest.mark.parametrize("name", DENSE)
def test_other_sparse_input_is_refused_with_the_way_out(name):
    case = CASES[name]
    arguments = case.draw(np.random.default_rng(0), 12)
    first = next(iter(case.rows))
    flat = arguments[first].reshape(-1, arguments[first].shape[-1])
    with pytest.raises(TypeError, match=rf"{first} must be a dense array.*pass {first}.toarray\(\)"):
        case.score(**{**arguments, first: sp.csr_array(flat)})


@having("scale")
def test_copies_of_points_are_fine(case):
    arguments = case.draw(np.random.default_rng(0), 12)
    for name, axes in case.rows.items():
        for axis in np.atleast_1d(axes):
            arguments = changed(arguments, {name: lambda a, axis=axis: np.concatenate([a, a], axis=axis)})
    assert np.isfinite(value(case, arguments)).all()
