# Everything runs in .venv at the root of the checkout, made on first use.
PYTHON ?= python3
BIN := .venv/bin
# Tests and benchmarks start many processes; without bytecode each would compile the library's modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test quick check fuzz docs bench browser format clean

run: .venv/core
	mkdir -p build
	$(BIN)/noregret compare 'synthetic:linear?n=100000&d=50&relevant=10' --html build/report.html

test: .venv/test
	$(BIN)/python -m pytest -n 2 --dist worksteal

# What breaks most often, for the inner loop: the plan of the house, the contracts, every trace, files, merging, some digests.
QUICK := architecture base declarations dicts engine files inputs merging parts spec tasks text training
quick: .venv/test
	$(BIN)/python -m pytest -q -n 2 --dist worksteal $(QUICK:%=tests/test_%.py) tests/test_golden.py tests/test_algorithms.py -k "not elsewhere"

check: .venv/test docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_architecture.py

# Changed files for every reader and the loader of models, in a child process with limits; a finding is printed with its case.
MINUTES ?= 10
fuzz: .venv/test
	$(BIN)/python tests/fuzz.py --minutes $(MINUTES)

docs: .venv/docs # the site in build/site; a broken link is an error (not with --quiet, which hides the warnings that --strict counts)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: .venv/bench
	$(BIN)/python -m benchmarks

browser: # Debian's Chromium, to look at pages: used by people and by the tests of pages, which skip without it
	command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium)

format: .venv/test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/core: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet -e .
	touch $@

.venv/test: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet -e '.[test]'
	touch $@ .venv/core

.venv/docs: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	touch $@ .venv/core

.venv/bench: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet -e '.[bench]'
	touch $@ .venv/core

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
