import numpy as np
import pytest

from polyfold.metrics import average_accuracy_curve


def literal_curve(Z, labels, counts, unlabeled):
    out = []
    for r in counts:
        shares = []
        for i in range(len(Z)):
            others = [j for j in np.argsort(np.linalg.norm(Z - Z[i], axis=1), kind="stable") if j != i][:r]
            relevant = [labels[j] == labels[i] and labels[i] != unlabeled for j in others]
            shares.append(sum(relevant) / r)
        out.append(np.mean(shares))
    return out


def test_curve_is_the_mean_share_of_relevant_neighbors():
    rng = np.random.default_rng(0)
    Z, labels = rng.standard_normal((300, 3)), rng.integers(-1, 4, 300)
    counts, accuracy = average_accuracy_curve(Z, labels, unlabeled=-1)
    assert counts.tolist() == [1, 3, 7, 15, 31, 63, 127, 255]
    np.testing.assert_allclose(accuracy, literal_curve(Z, labels, counts, -1))


def test_topics_may_be_several():
    Z = np.array([[0.0], [1.0], [2.5], [9.0]])
    topics = np.array([[1, 0], [1, 1], [0, 1], [0, 0]])
    _, accuracy = average_accuracy_curve(Z, topics, counts=[1])
    np.testing.assert_allclose(accuracy, [3 / 4])


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="Z and labels must describe the same points, got 3 and 2 rows"):
        average_accuracy_curve(np.zeros((3, 1)), [0, 1])
    with pytest.raises(ValueError, match="counts must be rising integers >= 1 and < n_samples=3"):
        average_accuracy_curve(np.zeros((3, 1)), [0, 1, 1], counts=[1, 3])
    with pytest.raises(ValueError, match="counts must be rising integers"):
        average_accuracy_curve(np.zeros((3, 1)), [0, 1, 1], counts=[1.5])


def test_curve_far_from_the_origin():
    rng = np.random.default_rng(0)
    Z, labels = rng.standard_normal((300, 3)), rng.integers(0, 4, 300)
    far = average_accuracy_curve(Z + 1e7, labels)[1]
    np.testing.assert_allclose(far, average_accuracy_curve(Z, labels)[1])
