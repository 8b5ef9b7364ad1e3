"""Numbers that can change a result live in `polyfold._policy`, and nowhere else."""

import ast
from pathlib import Path

import polyfold
from polyfold import _policy

ROOT = Path(polyfold.__file__).parent
PACKAGES = ("bootstrap", "clustering", "ensembles", "estimators", "neighbors", "nonredundant")
# Sizes of blocks, memory, tolerances of exact computations and effort of estimates, file by file. They change the time
# or the memory of a computation, or the digits of a diagnostic, not what is computed.
SIZES = {
    "bootstrap/_candidate_search.py": {
        "BLOCK",
        "CHECKED_CLUSTERINGS",
        "CHECKED_ROWS",
        "FARTHEST",
        "LONGEST_LIST",
        "ROUNDING",
    },
    "bootstrap/_code_search.py": {"LOW"},
    "bootstrap/_dense_search.py": {
        "FULL_WIDTH",
        "DIRECTIONS",
        "SAMPLE",
        "FAR_OUT",
        "BLOCK",
        "BLOCK_ENTRIES",
        "CHUNK",
        "FEW_ROWS",
        "FEW_BLOCK",
    },
    "bootstrap/_encoder.py": {"BLOCK", "PAIRS", "TASK_ROWS"},
    "bootstrap/_inverted_index.py": {"TIE"},
    "bootstrap/_output.py": {
        "DENSE_ROWS",
        "OVERSAMPLING",
        "POWER_STEPS",
        "TOLERANCE",
        "MAX_STEPS",
        "BLOCK",
        "CLUSTERINGS",
    },
    "bootstrap/_shared_codes.py": {"BLOCK", "TILE_BYTES", "LANES", "BYTE", "BYTE_ROWS"},
    "clustering/_stability.py": {"LEVELS"},  # how many are listed; the tree can be cut anywhere
    "clustering/_tree.py": {"ROWS_PER_SMALL_CLUSTER", "STEPS"},
    "ensembles/_dask_search.py": {"QUERY_BYTES", "CANDIDATE_BYTES"},
    "ensembles/_module_search.py": {"_PAIRS"},
    "ensembles/_recall_tuning.py": {"_TIE"},
    "ensembles/_student.py": {"BLOCK"},
    "nonredundant/_sequence.py": {
        "MAX_AUTO_COMPONENTS",
        "_ROTATION_ROWS",
        "_TOL",
        "_ROUNDING",
    },
    "nonredundant/_smoother.py": {
        "_CUT",  # of the paper
        "TRACE_TOL",
        "_FEW_POINTS",
        "_FEW_TOL",
        "_MANY_COORDINATES",
        "MAX_RANK_SHARE",
        "SATURATED_SHARE",
        "_PIVOT_TOL",
        "_BLOCK",
    },
    "estimators/_bootstrap_rows.py": {"HEAVY", "ADVICE_ROWS"},
    "estimators/_selected.py": {"_QUERIES", "_MEDIAN_ROWS"},
    "estimators/_linear_autoencoder.py": {"BATCH"},
    "nonredundant/_kernel_selection.py": {"_RANK"},
    "estimators/_nonredundant.py": {"_BLOCK"},
    "neighbors/_search.py": {
        "_TREE_COLUMNS",  # scikit-learn's own number
        "RECALL_ROWS",  # effort of an estimate
        "LOWEST_RECALL",  # a warning
        "_FRAME_ROWS",  # origin and scale: they change rounding only
        "_SPARE",
        "QUERIES",
        "_FAISS_PRODUCTS",  # time only
        "SINGLE_RANGE",  # overflow
        "_ROUNDING",
    },
}


def is_number(node):
    """Whether an expression is made of numbers alone."""
    numbers = [part for part in ast.walk(node) if isinstance(part, ast.Constant)]
    names = any(isinstance(part, ast.Name | ast.Attribute) for part in ast.walk(node))
    return bool(numbers) and not names and all(type(part.value) in (int, float) for part in numbers)


def constants(source):
    """Names of the numeric constants of a module."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and is_number(node.value):
            for target in node.targets:
                yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


def test_no_other_module_defines_a_number_that_can_change_a_result():
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(PACKAGES) and (names := set(constants(path.read_text()))):
            found[name] = names
    assert found == SIZES


def test_a_constant_is_seen():
    assert set(constants("A, B = 2, 3.5\nC = 2**7\nD = (0.2, 0.5)\nE = 'text'\nF = A\n_G = -1")) == {*"ABCD", "_G"}


def test_the_policy_is_short_and_every_line_has_a_reason():
    source = Path(_policy.__file__).read_text()
    names = list(constants(source))
    assert len(names) <= 25
    blocks = source.split('"""')[2].strip().split("\n\n")
    assert len(blocks) > 10
    assert all(block.startswith("#") for block in blocks)
