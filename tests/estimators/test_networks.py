"""The scikit-learn side of the network estimators."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polyfold import ModularAutoencoder
from polyfold.networks import MLP, ModularAutoencoderNetwork, ModularRegressor, Training

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

QUICK = Training(max_iter=15, learning_rate=0.01, validation_fraction=0.0)
# Whether it fails depends on the BLAS at hand: sums over the hidden units differ in the last digit.
FLOAT32 = {
    "check_methods_subset_invariance": "in float32 a row alone and in a batch agree to 1e-6, the check asks 1e-7"
}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def regression(rng):
    X = rng.normal(size=(120, 4))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=120)
    return X, y


def test_regressor_learns_and_averages(regression):
    X, y = regression
    model = ModularRegressor(4, training=Training(max_iter=150, learning_rate=0.01), random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    np.testing.assert_allclose(model.predict_modules(X).mean(axis=0), model.predict(X), rtol=1e-5)
    assert model.predict_modules(X).shape == (4, 120)


def test_diversity_spreads_the_modules(regression):
    X, y = regression
    training = Training(max_iter=100, learning_rate=0.01, validation_fraction=0.0)
    spreads = [
        ModularRegressor(4, diversity=lam, training=training, random_state=0)
        .fit(X, y)
        .predict_modules(X)
        .std(axis=0)
        .mean()
        for lam in (0.0, 0.95)
    ]
    assert spreads[1] > 1.5 * spreads[0]


def test_loss_is_that_of_the_predictions(regression):
    X, y = regression
    model = ModularRegressor(3, diversity=0.6, training=QUICK, random_state=0).fit(X, 50 * y)
    outputs = model.predict_modules(X)
    single = np.mean((outputs - 50 * y) ** 2)
    composite = np.mean((outputs.mean(axis=0) - 50 * y) ** 2)
    assert model.loss_ == pytest.approx(0.4 * single + 0.6 * composite, rel=1e-4)


def test_many_targets_keep_their_shape(regression):
    X, y = regression
    model = ModularRegressor(2, training=QUICK, random_state=0).fit(X, np.column_stack([y, -y]))
    assert model.predict(X).shape == (120, 2)
    assert model.predict_modules(X).shape == (2, 120, 2)


@pytest.mark.parametrize("n_rows", [1, 5000])
def test_autoencoder_shapes(n_rows, rng):
    X = rng.normal(size=(5000, 6))
    model = ModularAutoencoderNetwork(3, 2, training=Training(max_iter=2), random_state=0).fit(X)
    rows = X[:n_rows]
    assert model.transform(rows).shape == (n_rows, 6)
    assert model.transform_modules(rows).shape == (3, n_rows, 2)
    assert model.reconstruct_modules(rows).shape == (3, n_rows, 6)
    ensemble = model.inverse_transform(model.transform(rows))
    np.testing.assert_allclose(ensemble, model.reconstruct_modules(rows).mean(axis=0), rtol=1e-3, atol=1e-4)
    side_by_side = np.concatenate(list(model.transform_modules(rows)), axis=1)
    np.testing.assert_allclose(model.transform(rows), side_by_side)


def test_deep_autoencoder_beats_the_linear_one_on_a_curve(rng):
    t = rng.uniform(-3, 3, 400)
    X = np.column_stack([np.cos(t), np.sin(t), t / 3])
    training = Training(max_iter=150, learning_rate=0.01, batch_size=64)
    losses = [
        ModularAutoencoderNetwork(2, 1, architecture=MLP(hidden), diversity=0.3, training=training, random_state=0)
        .fit(X)
        .loss_
        for hidden in ((), (32, 16))
    ]
    assert losses[1] < 0.5 * losses[0]


@pytest.mark.parametrize("diversity", [0.0, 0.6])
def test_linear_networks_reach_the_closed_form(rng, diversity):
    X = rng.normal(size=(200, 6)) * [4, 3, 2, 1.5, 1, 0.5] + 10
    closed = ModularAutoencoder(3, 2, diversity=diversity, random_state=0).fit(X)
    training = Training(max_iter=300, learning_rate=0.03, batch_size=200, validation_fraction=0.0)
    network = ModularAutoencoderNetwork(
        3, 2, architecture=MLP(()), diversity=diversity, training=training, random_state=0
    ).fit(X)
    assert closed.loss_ * (1 - 1e-6) <= network.loss_ <= 1.01 * closed.loss_


def test_user_architecture_is_used(regression):
    def wide(n_inputs, n_outputs):
        return torch.nn.Sequential(torch.nn.Linear(n_inputs, 11), torch.nn.ELU(), torch.nn.Linear(11, n_outputs))

    model = ModularAutoencoderNetwork(2, 3, architecture=wide, training=QUICK, random_state=0).fit(regression[0])
    shapes = {tuple(weight.shape) for weight in model.network_.parameters()}
    assert (2, 11, 4) in shapes


def test_decoder_with_the_wrong_size_names_both_shapes(regression):
    model = ModularAutoencoderNetwork(2, 3, decoder=lambda i, o: torch.nn.Linear(i, 5), training=QUICK)
    with pytest.raises(ValueError, match=r"outputs of shape \(2, 4\), got \(2, 5\)"):
        model.fit(regression[0])


def test_codes_of_the_wrong_width_are_refused(regression):
    model = ModularAutoencoderNetwork(2, 3, training=QUICK, random_state=0).fit(regression[0])
    with pytest.raises(ValueError, match="n_modules \\* n_components=6 columns, got 4"):
        model.inverse_transform(regression[0])


def test_same_seed_same_result_and_other_generators_untouched(regression):
    X, y = regression
    torch.manual_seed(7)
    before = torch.get_rng_state()
    models = [ModularRegressor(2, training=QUICK, random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    assert torch.equal(before, torch.get_rng_state())
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))
    assert not np.allclose(models[0].predict(X), models[2].predict(X))


def test_threads_do_not_change_the_result(regression):
    X, y = regression
    threads, found = torch.get_num_threads(), []
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            found.append(ModularRegressor(3, training=QUICK, random_state=0).fit(X, y).predict(X))
    finally:
        torch.set_num_threads(threads)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-5)


def test_fitted_model_survives_pickling(regression):
    model = ModularAutoencoderNetwork(2, 2, training=QUICK, random_state=0).fit(regression[0])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.transform(regression[0]), again.transform(regression[0]))


def test_works_in_a_pipeline_with_named_features(regression):
    pandas = pytest.importorskip("pandas")
    pipeline = make_pipeline(StandardScaler(), ModularAutoencoderNetwork(2, 2, training=QUICK, random_state=0))
    frame = pipeline.set_output(transform="pandas").fit_transform(pandas.DataFrame(regression[0], columns=list("abcd")))
    assert list(frame.columns) == ["module0_dim0", "module0_dim1", "module1_dim0", "module1_dim1"]


def test_options_are_searchable():
    model = clone(ModularRegressor(architecture=MLP(), training=Training()))
    model.set_params(architecture__hidden=(3,), training__learning_rate=0.5)
    assert (model.architecture.hidden, model.training.learning_rate) == ((3,), 0.5)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"diversity": 1.2}, r"diversity must be a number >= 0 and <= 1, got 1.2; .*Theorem 3"),
        ({"diversity": -0.1}, "diversity must be a number >= 0 and <= 1"),
        ({"n_modules": 0}, "n_modules must be an integer >= 1"),
    ],
)
def test_bad_parameters_are_named(parameters, message, regression):
    with pytest.raises(ValueError, match=message):
        ModularRegressor(**{"n_modules": 2, **parameters}).fit(*regression)


def test_training_must_be_an_options_object(regression):
    with pytest.raises(TypeError, match=r"training must be a polyfold\.networks\.Training"):
        ModularRegressor(training={"max_iter": 3}).fit(*regression)


MODELS = [ModularRegressor(2, training=QUICK), ModularAutoencoderNetwork(2, 2, training=QUICK)]


@pytest.mark.parametrize("model", MODELS, ids=["regressor", "autoencoder"])
def test_a_failed_fit_leaves_what_was_there(model, regression, monkeypatch):
    X, y = regression
    use = "predict" if hasattr(model, "predict") else "transform"
    new, old = clone(model), clone(model).fit(X, y)
    expected = getattr(old, use)(X)
    monkeypatch.setattr("polyfold.training._loop._epoch", None)
    for each in (new, old):
        with pytest.raises(TypeError):
            each.fit(X[:, :2], y)
    with pytest.raises(NotFittedError):
        getattr(new, use)(X)
    np.testing.assert_array_equal(getattr(old, use)(X), expected)


@pytest.mark.parametrize("model", MODELS, ids=["regressor", "autoencoder"])
def test_values_whose_squares_overflow_are_refused(model, regression):
    X, y = regression
    fitted = clone(model).fit(X, y)
    wild = X.copy()
    wild[3, 2] = 1e200
    use = fitted.predict if hasattr(fitted, "predict") else fitted.transform
    for act in (lambda: clone(model).fit(wild, y), lambda: use(wild)):
        with pytest.raises(ValueError, match="X must have magnitudes <= .*, got 1e\\+200; remove outliers"):
            act()
    wild[3, 2] = 1e60
    with pytest.raises(ValueError, match="X, in units of the spread of the training rows, must have magnitudes <="):
        use(wild)


def test_targets_whose_squares_overflow_are_refused(regression):
    X, y = regression
    with pytest.raises(ValueError, match="y must have magnitudes <= .*, got 1e\\+200"):
        ModularRegressor(2, training=QUICK).fit(X, np.where(np.arange(len(y)) == 3, 1e200, y))
