# Every target builds what it needs: `make demo` and `make test` work on a fresh clone.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
DATA := $(POLYFOLD_DATA)

.PHONY: demo test test-fast test-torch test-bounds test-files lint types unit test-browser bench reproduce docs readme pictures clean

demo: $(VENV)/.demo
	$(BIN)/python -m polyfold.demo --output polyfold-demo

test: lint types unit

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/basedpyright --pythonpath $(BIN)/python

unit: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not browser and not torch"

# A quick answer before a commit: no doctests, and nothing that is slow or needs a cluster.
test-fast: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal -q tests -m "not slow and not torch and not browser and not dask"

test-torch: $(VENV)/.test
	@$(BIN)/python -c "import torch" 2>/dev/null || \
		{ echo "torch is not installed; run: $(BIN)/python -m pip install torch"; exit 2; }
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -m torch

# Compiled loops with bounds checks: an index outside an array raises instead of reading other memory. The cache is
# separate, because numba does not tell functions with checks from those without.
test-bounds: $(VENV)/.test
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/build/bounds $(BIN)/python -m pytest -n 2 --dist worksteal -q \
		tests/bootstrap tests/modular tests/ensembles/test_neighbors.py tests/ensembles/test_neighbor_graphs.py \
		tests/estimators/test_bootstrap_borders.py tests/estimators/test_bootstrap_neighbors.py \
		-m "not slow and not torch and not dask"

# Forged model files: none may crash, hang, run code or fill the memory.
test-files: $(VENV)/.test
	$(BIN)/python -m tests.saving.fuzz --cases 2000

# The explorer's page in chromium; where there is none and none can be installed, its tests are skipped and say so.
test-browser: $(VENV)/.test
	.ci/chromium
	$(BIN)/python -m pytest -q -rs tests/browser

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

# Run every table and figure of the papers, reusing the stored cells, and write the pages about them.
reproduce: $(VENV)/.test
	$(BIN)/python -m papers all --out papers/results
	$(BIN)/python -m benchmarks.pages.reproduction

docs: $(VENV)/.docs
	rm -rf build/html
	$(BIN)/python -m sphinx -W --keep-going -d build/doctrees -b html docs build/html
	POLYFOLD_SITE=build/html $(BIN)/python -m pytest -q tests/site

# Tables of README and guides, and the pages of peers and papers, from results; pictures from examples/.
readme: $(VENV)/.test
	$(BIN)/python -m benchmarks.pages.blocks
	$(BIN)/python -m benchmarks.pages.peers
	$(BIN)/python -m benchmarks.pages.reproduction

pictures: $(VENV)/.docs
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/axes_picture.py

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache polyfold-demo build dist docs/api docs/gallery docs/references.rst

$(VENV)/pyvenv.cfg:
	$(PYTHON) -m venv $(VENV)

# One stamp per set of extras, renewed when the dependencies change.
$(VENV)/.demo: pyproject.toml | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[plot]"
	touch $@

$(VENV)/.%: pyproject.toml | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$*]"
	touch $@
