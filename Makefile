# make demo        install and show the main job on the built-in collection
# make test        install and run the tests that take less than ten minutes together
# make test-long   the other tests: kills, damaged inputs, trainings, studies, golden results
# make check       lint and types
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile --durations 10

.PHONY: demo test test-long check format clean browser

demo: .venv/core
	$(BIN)/whyrank get ce-minilm-l12
	$(BIN)/whyrank demo

test: .venv/dev browser
	$(PYTEST) -m "not slow"

test-long: .venv/dev
	$(PYTEST) -m slow

# The browser in which tests look at reports: installed in CI, elsewhere you are told that it is missing.
browser:
	@command -v chromium >/dev/null \
		|| { test -n "$$CI" && apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium >/dev/null; } \
		|| echo "Chromium is missing: tests of reports in a browser are skipped (on Debian: apt-get install chromium)"

check: .venv/dev
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy

format: .venv/dev
	$(BIN)/ruff check --fix src tests benchmarks examples
	$(BIN)/ruff format src tests benchmarks examples

clean:
	rm -rf .venv

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "whyrank needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv .venv \
		|| { rm -rf .venv; echo "Python's venv module is missing (on Debian: apt-get install python3-venv)"; exit 1; }

.venv/core: $(BIN)/python pyproject.toml constraints.txt
	@echo "installing whyrank into .venv (a few minutes the first time)"
	$(PIP) --editable .
	@touch $@

.venv/dev: .venv/core
	@echo "installing the development tools into .venv"
	$(PIP) --editable '.[dev]'
	@touch $@
