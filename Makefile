# Every target sets up what it needs: a virtual environment in .venv with the pinned versions.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2

SPARK_VERSIONS ?= 4.1.4 4.2.1

.PHONY: help run test lint types unit spark deep bench bench-cloud interop interop-lance-spark bench-lance-spark ledger clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip --constraint constraints.txt
	$(BIN)/pip install --quiet --editable '.[test]' --constraint constraints.txt
	@touch $@

run: $(READY) ## Run a Spark pipeline over sample documents into a catalog in ./demo
	$(BIN)/python examples/pipeline --root demo

test: lint types unit spark ## Run all checks and tests

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

unit: $(READY)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --ignore tests/spark

spark: $(READY)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile tests/spark

deep: $(READY) ## Run the long campaigns: random walks, kills, races
	$(BIN)/python -m pytest -q -m deep
	CONFORMANCE_BACKENDS=rest_memory,rest_v1,rest_v2,rest_compat,rest_bare,rest_managed \
		$(BIN)/python -m pytest -q -n $(WORKERS) tests/conformance
	CONFORMANCE_BACKENDS=s3_v1,s3_v2,s3_compat,s3_bare,s3_managed \
		$(BIN)/python -m pytest -q -n $(WORKERS) tests/conformance

bench: $(READY) ## Compare with the reference implementation and with Parquet, side by side
	$(BIN)/python benchmarks/directory.py
	$(BIN)/python benchmarks/spark.py
	$(BIN)/python benchmarks/spark_sql.py
	$(BIN)/python benchmarks/spark_maintenance.py
	$(BIN)/python benchmarks/spark_search.py
	$(BIN)/python benchmarks/operations.py
	$(BIN)/python benchmarks/versions.py
	$(BIN)/python benchmarks/rest.py
	$(BIN)/python benchmarks/repair.py

bench-cloud: $(READY) ## Compare with the reference in a bucket: requests, bytes, time and the bill
	PYTHONPATH=. $(BIN)/python benchmarks/cloud.py

bench-lance-spark: $(READY) .venv-lance-spark ## Compare with Java's lance-spark, side by side
	LANCE_SPARK_PYTHON=.venv-lance-spark/bin/python $(BIN)/python benchmarks/lance_spark.py

interop: $(SPARK_VERSIONS:%=interop-spark-%) interop-lance-spark ## Run beside other versions and programs

interop-lance-spark: $(READY) .venv-lance-spark ## Run Java's lance-spark through our server
	LANCE_SPARK_PYTHON=.venv-lance-spark/bin/python $(BIN)/python -m pytest -q -m interop tests/interop

.venv-lance-spark: # The Spark that it is made for; Spark itself fetches the jars
	$(PYTHON) -m venv $@
	$@/bin/pip install --quiet pyspark==3.5.9

interop-spark-%: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-spark-$*
	sed 's/^pyspark==.*/pyspark==$*/' constraints.txt > .venv-spark-$*/constraints.txt
	.venv-spark-$*/bin/pip install --quiet --editable . 'pyspark[connect]==$*' pandas pytest \
		pytest-xdist hypothesis --constraint .venv-spark-$*/constraints.txt
	# Older versions of PySpark leave sockets to the garbage collector.
	.venv-spark-$*/bin/python -m pytest -q -n $(WORKERS) --dist loadfile tests/spark \
		-W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning

ledger: $(READY) ## Write down where the reference implementation deviates from the documents
	$(BIN)/python -m tests.conformance.ledger

clean: ## Remove what the other targets made
	rm -rf $(VENV) .venv-spark-* .venv-lance-spark demo .mypy_cache .pytest_cache .ruff_cache .hypothesis
