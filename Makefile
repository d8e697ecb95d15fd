# Everything sets itself up: `.venv` is made once and again only when the lock file or pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test up bench lint soak format lock clean kafka-jars

$(STAMP): requirements/test.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements/test.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# Apache Kafka's own jars, for the tests and benchmarks that compare us with it. Without Java and Maven these are skipped.
kafka-jars: .kafka/.installed
.kafka/.installed: peers/pom.xml
	@if command -v java >/dev/null && command -v mvn >/dev/null; then \
	  mvn --quiet --batch-mode --file peers/pom.xml dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/.kafka/lib && touch $@; \
	else echo "Java or Maven is missing: what compares us with Apache Kafka is skipped (install a JDK 17 and Maven)."; fi

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
