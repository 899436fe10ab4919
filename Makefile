# Every target sets up what it needs: a virtual environment in .venv with the pinned versions.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2

.PHONY: help run test lint types unit deep bench ledger clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip --constraint constraints.txt
	$(BIN)/pip install --quiet --editable '.[test]' --constraint constraints.txt
	@touch $@

run: $(READY) ## Build a small catalog in ./demo and show it
	$(BIN)/python examples/demo.py demo

test: lint types unit ## Run all checks and tests

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

unit: $(READY)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

deep: $(READY) ## Run the long campaigns: random walks, kills, races
	$(BIN)/python -m pytest -q -m deep

bench: $(READY) ## Compare with the reference implementation, side by side
	$(BIN)/python benchmarks/directory.py

ledger: $(READY) ## Write down where the reference implementation deviates from the documents
	$(BIN)/python -m tests.conformance.ledger

clean: ## Remove what the other targets made
	rm -rf $(VENV) demo .mypy_cache .pytest_cache .ruff_cache .hypothesis
