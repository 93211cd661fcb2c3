# Everything below makes its own environment in .venv first; Python 3.11 or newer and pip are all it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TESTED := $(VENV)/.ready-to-test

.PHONY: demo test lint bench golden mpe skyrl docs lock clean help

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[all,train]'
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

bench: $(TESTED) ## overhead and training against other frameworks, all methods, the embedded engine
	$(BIN)/python -m benchmarks.overhead
	$(BIN)/python -m benchmarks.methods
	$(BIN)/python -m benchmarks.local
	$(BIN)/python -m benchmarks.train

golden: $(TESTED) ## credit and losses against TRL's and verl's own functions, in an environment of their own
	$(BIN)/python -m benchmarks.golden

mpe: $(TESTED) ## small networks in a particle world against BenchMARL, in an environment of its own
	$(BIN)/python -m benchmarks.mpe

skyrl: $(TESTED) ## the Tinker engine against a real server of that API, in an environment of its own
	$(BIN)/python -m scripts.skyrl

docs: $(READY) ## generated pages: the index of methods, and their cards
	$(BIN)/python -m scripts.docs

lock: $(TESTED) ## write constraints.txt from what is installed: names and versions, no addresses
	$(BIN)/python scripts/lock.py > constraints.tmp && mv constraints.tmp constraints.txt

clean: ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
