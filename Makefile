# Everything below makes its own environment in .venv first; Python 3.11 or newer and pip are all it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.PHONY: demo test lint bench docs lock clean help

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(STAMP) ## five methods on a real suite with the embedded model; no key needed
	$(BIN)/motet demo

test: $(STAMP) lint ## lint, types, import arrows, size budgets, every test
	$(BIN)/pytest --numprocesses 2 --dist loadgroup

lint: $(STAMP) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP) ## overhead against other frameworks, and the embedded engine's speed
	$(BIN)/python -m benchmarks.overhead
	$(BIN)/python -m benchmarks.local

docs: $(STAMP) ## generated pages: the index of methods
	$(BIN)/python -m docs.build

lock: $(STAMP) ## write constraints.txt from what is installed: names and versions, no addresses
	$(BIN)/python scripts/lock.py > constraints.tmp && mv constraints.tmp constraints.txt

clean: ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
