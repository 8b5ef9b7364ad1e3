"""Network estimators can be imported without torch; a fit raises an error with the pip command."""

import sys

import pytest

from polyfold.exceptions import MissingExtraError
from polyfold.networks import ModularAutoencoderNetwork, ModularRegressor


def test_missing_torch_is_one_sentence_with_the_command(blobs, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for model in (ModularRegressor(2), ModularAutoencoderNetwork(2, 2)):
        with pytest.raises(MissingExtraError, match=r'^torch is needed .*; run: pip install "torch>=[\d.]+"$'):
            model.fit(blobs, blobs[:, 0])
