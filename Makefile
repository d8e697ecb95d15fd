# Every target sets itself up: `.venv` is made once, and again only when the lock file or
# pyproject.toml changes.
# Distributions build Python with the profile of a run, which version managers and plain builds leave
# out: it takes a seventh off all Python here. So the system's own is used if it can make a .venv.
PYTHON ?= $(shell for each in /usr/bin/python3.1[1-9]; do \
  "$$each" -c "import ensurepip, venv" 2>/dev/null && echo "$$each" && exit; done; echo python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest
SCANNER := src/barnabas/model/_record_scanner.abi3.so

.PHONY: demo docs compiled scanner test test-cores test-simulation test-pipelines test-conformance test-cluster test-cli test-console test-hostile up bench lint style types soak format lock clean kafka-jars confluent-jar kcat kerberos chromium

# MyBank, from its database to alerts, with a broker killed in between.
# BANK_URL=postgresql://... puts the bank on PostgreSQL; KEEP=1 keeps all of it up until Ctrl-C.
demo: $(STAMP) scanner
	$(BIN)/python -m examples.mybank.run

# The fast checks come first, so that a simple mistake shows in seconds. The others run beside the
# suites: each needs one processor, and would leave the rest of the machine idle.
test: $(STAMP) style kafka-jars confluent-jar kcat kerberos chromium compiled scanner
	$(MAKE) --no-print-directory --jobs 4 --output-sync=target test-cores test-simulation test-conformance test-pipelines test-cluster test-console test-cli test-hostile types docs

# Tests start hundreds of Python processes. Without compiled modules each would spend half a second
# on compiling; where PYTHONDONTWRITEBYTECODE is set, no process would keep the result.
compiled: $(STAMP)
	$(BIN)/python -m compileall -q src tests peers examples

# The data of tests is in memory if enough of it is free. Four suites at a time make thousands of
# syncs, and on a busy virtual disk one was seen to take 31 s, which is longer than clients wait.
# `make test TMPDIR=/tmp` tests with the disk.
ifndef TMPDIR
test test-cores test-simulation test-pipelines test-conformance test-cluster test-cli test-console test-hostile: \
  export TMPDIR = $(or $(MEMORY_DIRECTORY),/tmp)
MEMORY_DIRECTORY := $(shell sh tests/memory_directory.sh)
endif

# The compiled record scanner, docs/decisions/0021. Without a C compiler a sentence says so, and
# everything works in plain Python.
scanner: $(SCANNER)
$(SCANNER): native/record_scanner.c native/build.py | $(STAMP)
	@$(BIN)/python native/build.py

# Four run at a time, the longest first. The cores compute all the time; the other suites wait for
# nodes, sessions and Spark for more than half of theirs, so fewer would leave two processors idle.
test-cores: $(STAMP) scanner
	$(PYTEST) -m "not soak" tests/unit tests/shells tests/scenarios

test-simulation: $(STAMP) scanner
	$(PYTEST) -m "not soak" tests/simulation

test-pipelines: $(STAMP)
	$(PYTEST) -m "not soak" tests/pipelines

# kcat and the KDC are installed by `make test`, or by `make kcat kerberos`: as prerequisites here they
# would let the other suites start first, and the longest last.
test-conformance: $(STAMP) scanner kafka-jars
	$(PYTEST) -m "not soak" tests/conformance

test-cluster: $(STAMP) scanner kafka-jars
	$(PYTEST) -m "not soak" tests/cluster

test-cli: $(STAMP) kafka-jars
	$(PYTEST) -m "not soak" tests/cli examples

# Screenshots are kept in build/screenshots.
test-console: $(STAMP)
	$(PYTEST) -m "not soak" tests/console

test-hostile: $(STAMP)
	$(PYTEST) -m "not soak" tests/hostile

up: $(STAMP) scanner
	$(BIN)/barnabas up

# BENCH has options: BENCH=--with-peers measures kfake, Tansu and NATS JetStream too, docs/peers.md.
# They are built into .peers/ then, with Go and cargo.
bench: $(STAMP) scanner kafka-jars
	$(BIN)/python -m bench $(BENCH)

soak: $(STAMP) scanner kafka-jars
	$(PYTEST) -m soak --timeout 7200 tests

lint: style types

style: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m checks.plain_english

types: $(STAMP)
	$(BIN)/mypy
	$(BIN)/lint-imports

# The documentation site, in site/. Every warning is an error: a broken link, for example, or a page
# outside the navigation.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

.PHONY: screenshots
# The pictures of the console in docs/assets/console.
screenshots: $(STAMP) chromium
	$(BIN)/python -m docs_site.screenshots

.PHONY: man wheel image
# The manual pages, in build/man; read one with `man build/man/man1/barnabas-topics.1`.
man: $(STAMP)
	rm -rf build/man
	$(BIN)/python -m docs_site.man_pages build/man/man1

# The package in dist/, with the manual pages; BARNABAS_COMPILED=1 adds the compiled record scanner.
wheel: man
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

# The image of a node; docs/deploying.md says how to use it.
IMAGE ?= barnabas:latest
image:
	docker build --file deploy/docker/Dockerfile --tag $(IMAGE) .

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(STAMP): requirements/test.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements/test.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python -m compileall -q src
	touch $@

# Apache Kafka's own jars, for the tests and benchmarks that compare us with it. They are skipped
# without Java and Maven.
kafka-jars: .kafka/.installed
.kafka/.installed: peers/pom.xml
	@mkdir -p .kafka
	@if command -v java >/dev/null && command -v mvn >/dev/null; then \
	  mvn --quiet --batch-mode --file peers/pom.xml dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/.kafka/lib && touch $@; \
	else echo "Java or Maven is missing, so comparisons with Apache Kafka are skipped (install a JDK 17 and Maven)."; fi

# Confluent's Java client and serializers, for the tests of the registry. They are skipped without it.
# Maven Central does not have Confluent's own artifacts; the jar of this plugin of Apache Pinot contains
# them. It is copied alone, because its parents name a repository that only Confluent has.
CONFLUENT_JAR := org.apache.pinot:pinot-confluent-avro:1.5.0:jar:shaded
confluent-jar: .kafka/confluent/.installed
.kafka/confluent/.installed:
	@mkdir -p .kafka/confluent
	@if command -v java >/dev/null && command -v mvn >/dev/null \
	  && mvn --quiet --batch-mode dependency:copy -Dartifact=$(CONFLUENT_JAR) -DoutputDirectory=$(CURDIR)/.kafka/confluent; \
	then touch $@; else echo "Confluent's Java client cannot be fetched, so the registry is not tested with it."; fi

# kcat, which the tests compare our commands with. They are skipped without it.
kcat:
	@command -v kcat >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get install -y -qq kcat >/dev/null 2>&1; } \
	  || echo "kcat is missing, so comparisons with it are skipped (as root: apt-get install kcat)."

# Chromium without its windows, which the tests of the console drive. A whole Chromium serves too, at ten
# times the cost of a page. Tests in a browser are skipped without either.
chromium:
	@command -v chromium-headless-shell >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get install -y -qq --no-install-recommends chromium-headless-shell >/dev/null 2>&1; } \
	  || command -v chromium >/dev/null || echo "Chromium is missing, so tests in a browser are skipped (as root: apt-get install chromium-headless-shell)."

# A Kerberos KDC and the library of the extra [kerberos], for the tests of GSSAPI. They are skipped
# without them.
kerberos: $(STAMP)
	@command -v krb5kdc >/dev/null || [ -x /usr/sbin/krb5kdc ] \
	  || { [ "$$(id -u)" = 0 ] && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq krb5-kdc krb5-admin-server krb5-user libkrb5-dev >/dev/null 2>&1; } \
	  || echo "The KDC is missing, so tests of GSSAPI are skipped (as root: apt-get install krb5-kdc krb5-admin-server krb5-user libkrb5-dev)."
	@$(BIN)/python -c "import gssapi" 2>/dev/null || $(BIN)/python -m pip install --quiet 'gssapi>=1.9' \
	  || echo "The library gssapi cannot be installed, so tests of GSSAPI are skipped."

# Resolves the dependencies again. The lock files have hashes, but no addresses of package indexes.
lock: $(STAMP)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --quiet --generate-hashes --no-emit-index-url --no-header --universal --python-version 3.11 --output-file requirements/runtime.lock
	echo hatchling | $(BIN)/uv pip compile - --quiet --generate-hashes --no-emit-index-url --no-header --universal --python-version 3.11 --output-file requirements/build.lock
	$(BIN)/uv pip compile pyproject.toml --quiet --extra test --extra spark --extra sql --extra tiered --extra registry --extra console --extra docs --generate-hashes --no-emit-index-url --no-header --universal --python-version 3.11 --output-file requirements/test.lock

clean:
	rm -rf $(SCANNER) $(VENV) build dist .kafka .barnabas .bench .peers site .mypy_cache .ruff_cache .hypothesis
