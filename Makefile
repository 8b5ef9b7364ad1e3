# Every target builds what it needs: `make demo` and `make test` work on a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA := $(POLYFOLD_DATA)

.PHONY: demo test lint types unit test-browser bench reproduce docs clean

demo: $(VENV)/.demo
	$(BIN)/python -m polyfold.experiments.demo --output polyfold-demo

test: lint types unit

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/basedpyright

unit: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal -q --ignore=tests/browser

# The explorer's page in chromium; where there is none and none can be installed, its tests are skipped and say so.
test-browser: $(VENV)/.test
	.ci/chromium
	$(BIN)/python -m pytest -q -rs tests/browser

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

reproduce: $(VENV)/.test
	$(BIN)/python -m polyfold.experiments

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache polyfold-demo site build dist

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp per set of extras, renewed when the dependencies change.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[plot]"
	touch $@

$(VENV)/.%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$*]"
	touch $@
