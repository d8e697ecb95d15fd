# Every target sets itself up: `.venv` is made once, and again only when the lock file or
# pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest

.PHONY: demo docs test test-cores test-pipelines test-conformance test-nodes test-hostile up bench lint soak format lock clean kafka-jars

# MyBank, from its database to alerts, with a broker killed in between.
# BANK_URL=postgresql://... puts the bank on PostgreSQL.
demo: $(STAMP)
	$(BIN)/python -m examples.mybank.run

# The fast checks come first, so that a simple mistake shows in seconds.
test: $(STAMP) lint docs kafka-jars
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target test-cores test-pipelines
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target test-conformance test-nodes test-hostile

# Each pair runs together: one of the two needs the processor, the other waits most of the time.
test-cores: $(STAMP)
	$(PYTEST) -m "not soak" tests/unit tests/shells tests/scenarios tests/simulation

test-pipelines: $(STAMP)
	$(PYTEST) -m "not soak" tests/pipelines

test-conformance: $(STAMP) kafka-jars
	$(PYTEST) -m "not soak" tests/conformance

test-nodes: $(STAMP) kafka-jars
	$(PYTEST) -m "not soak" tests/cluster tests/cli

# Runs beside test-nodes when test-conformance, which is shorter, has ended.
test-hostile: $(STAMP)
	$(PYTEST) -m "not soak" tests/hostile

up: $(STAMP)
	$(BIN)/barnabas up

bench: $(STAMP) kafka-jars
	$(BIN)/python -m bench

soak: $(STAMP) kafka-jars
	$(PYTEST) -m soak --timeout 7200 tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m checks.plain_english

# The documentation site, in site/. Every warning is an error: a broken link, for example, or a page
# outside the navigation.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

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

# Resolves the dependencies again. The lock files have hashes, but no addresses of package indexes.
lock: $(STAMP)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --quiet --generate-hashes --no-emit-index-url --no-header --universal --python-version 3.11 --output-file requirements/runtime.lock
	$(BIN)/uv pip compile pyproject.toml --quiet --extra test --extra spark --extra tiered --extra docs --generate-hashes --no-emit-index-url --no-header --universal --python-version 3.11 --output-file requirements/test.lock

clean:
	rm -rf $(VENV) .kafka .barnabas .bench site .mypy_cache .ruff_cache .hypothesis
