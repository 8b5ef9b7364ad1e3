"""What scikit-learn asks of every estimator, and what we ask on top."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from polyfold.exceptions import DegenerateDataWarning
from tests.catalog import ENTRIES
from tests.contracts.answers import answers, assert_all, documented_warnings, fitted
from tests.contracts.samples import sheet

TRANSFORMERS = [e for e in ENTRIES if e.transforms()]
MODULAR = [e for e in ENTRIES if e.has_modules()]
ROWS = [e for e in ENTRIES if e.takes == "rows"]
