import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polyfold.explaining._features import count_words
from polyfold.explaining._naming import axis_names, region_means, unique_names, word_phrases

PARTS = st.lists(st.lists(st.sampled_from("abcd"), unique=True, max_size=4), min_size=1, max_size=8)


@given(PARTS)
def test_two_groups_never_share_a_name(parts):
    names = unique_names({f"cluster {i}": phrases for i, phrases in enumerate(parts)}, 2, "nothing")
    assert len(set(names.values())) == len(parts)
    for name, phrases in zip(names.values(), parts, strict=True):
        assert name.startswith(", ".join(phrases[:2]) or "nothing")


def test_names_are_short_and_grow_only_where_they_must():
    names = unique_names({"0": ["a", "b", "c"], "1": ["a", "b", "d"], "2": ["e", "f", "g"]}, 2, "nothing")
    assert names == {"0": "a, b, c", "1": "a, b, d", "2": "e, f"}


def test_the_order_of_phrases_makes_no_different_name():
    names = unique_names({"0": ["a", "b", "c"], "1": ["b", "a", "d"]}, 2, "nothing")
    assert names == {"0": "a, b, c", "1": "b, a, d"}


def test_axes_differ_by_both_ends_together():
    phrases = {"0 low": ["a", "b"], "0 high": ["c"], "1 low": ["a", "d"], "1 high": ["e"]}
    assert axis_names(phrases, 1) == {"0 low": "a", "0 high": "c", "1 low": "a", "1 high": "e"}
    same = axis_names(phrases | {"1 high": ["c"]}, 1)
    assert same == {"0 low": "a, b", "0 high": "c", "1 low": "a, d", "1 high": "c"}
    other = axis_names({key: ["a" if "low" in key else "c", key] for key in phrases}, 1, replaces=True)
    assert list(other.values()) == ["0 low", "0 high", "1 low", "1 high"]
    ends = axis_names({"0 low": ["a"], "0 high": ["a"], "1 low": [], "1 high": []}, 1)
    assert len(set(ends.values())) == 4


def test_words_of_a_name_are_not_forms_of_one_another():
    words = ["exchange", "exchanging", "exchange rate", "card", "cards", "transaction", "transfer"]
    assert word_phrases(np.arange(7, 0, -1.0), words) == ["exchange", "card", "transaction", "transfer"]
    assert word_phrases(np.zeros(7), words) == []


def test_stop_words_contractions_digits_and_letters_are_left_out():
    _, words = count_words(["I don't have the card 42 x", "it's a card's pin"], 2)
    assert words == ["card", "card pin", "pin"]


def test_regions_of_images():
    images = np.zeros((1, 9, 9))
    images[0, :, :3] = 1
    values, names = region_means(images.reshape(1, -1), (9, 9))
    found = dict(zip(names, values[0], strict=True))
    assert (found["left"], found["right"], found["centre"]) == (1, 0, 0)
    np.testing.assert_allclose([found["overall"], found["top"]], 1 / 3)
    assert region_means(np.ones((2, 2)), (1, 2))[1] == ["overall", "left", "top", "top left"]
