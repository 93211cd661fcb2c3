# Everything below makes its own environment in .venv first; Python 3.11 or newer and pip are all it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TESTED := $(VENV)/.ready-to-test

.PHONY: demo test lint bench docs lock clean help

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[all]'
	touch $@

$(TESTED): $(READY)
	$(PIP) --editable '.[dev]'
	touch $@

demo: $(READY) ## five methods on a real suite with the embedded model; no key needed
	$(BIN)/motet demo

test: $(TESTED) lint ## lint, types, import arrows, size budgets, every test
	$(BIN)/pytest --numprocesses 2 --dist loadgroup

lint: $(TESTED) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(TESTED) ## overhead against other frameworks, and the embedded engine's speed
	$(BIN)/python -m benchmarks.overhead
	$(BIN)/python -m benchmarks.local

docs: $(READY) ## generated pages: the index of methods
	$(BIN)/python scripts/docs.py

lock: $(TESTED) ## write constraints.txt from what is installed: names and versions, no addresses
	$(BIN)/python scripts/lock.py > constraints.tmp && mv constraints.tmp constraints.txt

clean: ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
