import pytest

from polyfold._validation import check_choice, check_count, check_real, import_extra
from polyfold.exceptions import MissingExtraError


@pytest.mark.parametrize("value", [1.5, True, "3", None])
def test_counts_are_integers(value):
    with pytest.raises(TypeError, match="k must be an integer >= 1, got"):
        check_count("k", value)


def test_counts_have_bounds_and_hints():
    with pytest.raises(ValueError, match="k must be an integer >= 1 and <= 5, got 6; take fewer."):
        check_count("k", 6, maximum=5, hint="take fewer")


@pytest.mark.parametrize(
    ("value", "error"), [("x", TypeError), (True, TypeError), (-1, ValueError), (float("nan"), ValueError)]
)
def test_reals_are_finite_numbers_in_range(value, error):
    with pytest.raises(error, match="a must be a number >= 0, got"):
        check_real("a", value, minimum=0)


def test_choices_are_listed():
    with pytest.raises(ValueError, match="mode must be one of 'a', 'b', got 'c'."):
        check_choice("mode", "c", ("a", "b"))


def test_missing_extra_names_the_command():
    with pytest.raises(MissingExtraError, match=r"no_such_module is needed.*pip install 'polyfold\[thing\]'"):
        import_extra("no_such_module", "thing")
