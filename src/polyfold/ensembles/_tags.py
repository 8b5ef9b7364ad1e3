"""What meta-estimators say of their input: what their representation says."""

from typing import Any

from sklearn.utils import get_tags


def follow_input(tags: Any, representation: Any) -> Any:
    """Return `tags` with sparse and pairwise input taken from the representation, so that folds are cut as it needs."""
    inner = get_tags(representation).input_tags
    tags.input_tags.sparse, tags.input_tags.pairwise = inner.sparse, inner.pairwise
    return tags
