"""`barnabas sql` without Spark: one query, or statements from a pipe."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from confluent_kafka import Producer

from barnabas.registry_client import RegistryClient
from barnabas.schemas.framing import write_frame
from barnabas.schemas.schema import SchemaType
from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli
from tests.registry_process import RegistryProcess
from tests.waiting import PATIENCE_SECONDS

pytest.importorskip("duckdb", reason="pip install 'barnabas[sql]'")


@pytest.fixture
def orders(kafka: EmbeddedBroker, cli: Cli) -> Cli:
    values = [{"status": "paid", "n": 1}, {"status": "open", "n": 2}, {"status": "paid", "n": 3}]
    fill(kafka, "orders", values)
    fill(kafka, "my-topic", [{"a": 1}])
    return cli


def fill(kafka: EmbeddedBroker, topic: str, values: Sequence[object]) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for each in values:
        producer.produce(topic, json.dumps(each).encode())
    assert producer.flush(PATIENCE_SECONDS) == 0


def test_a_query_is_answered_without_spark(orders: Cli) -> None:
    answered = orders("sql", "SELECT status, count(*) AS n FROM orders GROUP BY 1 ORDER BY 1", "--json", "--verbose")
    assert answered.code == 0
    assert [json.loads(line) for line in answered.out.splitlines()] == [{"status": "open", "n": 1}, {"status": "paid", "n": 2}]
    assert answered.err.startswith("2 rows, by the embedded engine from 3 records. ")


def test_a_query_that_shows_some_records_reads_no_more(orders: Cli) -> None:
    assert "from 2 records" in orders("sql", "SELECT n FROM orders", "--limit", "2", "--verbose").err
    assert "from 1 record." in orders("sql", "SELECT n FROM orders LIMIT 1", "--verbose").err
    assert "from 1 record." in orders("sql", "SELECT n FROM orders WHERE _offset > 0 AND 2 > _offset", "--verbose").err
    assert "from 0 records." in orders("sql", "SELECT n FROM orders WHERE _timestamp > now() + INTERVAL 1 DAY", "--verbose").err


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("SELECT * FROM ordrs", "There is no topic 'ordrs'; did you mean 'orders'?"),
        ("SELECT statu FROM orders", "There is no column 'statu' in topic 'orders'; did you mean 'status'?"),
        ("SELECT a\nFROM orders WHERE", "Syntax error near 'WHERE', at line 2, column 17."),
        ("SELECT n,, n FROM orders", "Syntax error near ',', at line 1, column 10."),
        ("SELECT\n 'a FROM orders", "Syntax error: a quote is not closed, at line 2, column 2."),
        ("SELECT * FROM my-topic", "Syntax error near '-', at line 1, column 17. Names with dashes are written in `backquotes`."),
        ("DROP TABLE orders", "Only SELECT is supported: barnabas sql changes nothing."),
        ("SELECT 1; SELECT 2", "One query at a time; the shell and a pipe take several, each ended by a semicolon."),
        ("SELECT n / 0 FROM orders", "The query failed: Division by zero."),
    ],
)
def test_mistakes_are_named_before_spark_starts(orders: Cli, query: str, sentence: str) -> None:
    refused = orders("sql", query)
    assert (refused.code, refused.err) == (1, f"barnabas: {sentence}\n")


@pytest.mark.parametrize(
    "query", ["SELECT * FROM '/etc/passwd'", "SELECT * FROM csv.`/etc/passwd`", "SELECT * FROM read_csv('/etc/passwd')"]
)
def test_files_are_not_tables(orders: Cli, query: str) -> None:
    refused = orders("sql", query, "--engine", "embedded")
    assert refused.code == 1
    assert refused.out == b""


def test_the_embedded_engine_names_what_it_leaves_to_spark(orders: Cli) -> None:
    refused = orders("sql", "SELECT explode(array(n)) FROM orders", "--engine", "embedded")
    assert refused.complaint == "The embedded engine cannot answer this query (the function explode); --engine spark can."


def test_statements_of_a_pipe_are_answered_one_after_another(orders: Cli) -> None:
    text = b"SELECT max(n) AS top\nFROM orders; -- one; two\nSELECT x FROM nowhere;\n\\d my-topic\nSELECT ';' AS s"
    finished = orders("sql", "--csv", stdin=text)
    assert finished.code == 1
    assert finished.out.decode().splitlines()[:3] == ["top", "3", "col_name,data_type,comment"]
    assert finished.out.decode().splitlines()[-3:] == ["a,bigint,", "s", ";"]
    assert finished.err == "barnabas: There is no topic 'nowhere'.\n"
    assert orders("sql", stdin=b"SHOW TOPICS;").rows == [["my-topic", "1"], ["orders", "1"]]


def test_missing_packages_are_named(orders: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.pipelines.sql.embedded.engine.is_installed", lambda: False)
    assert orders("sql", "SELECT 1", "--engine", "embedded").complaint == "The embedded engine needs DuckDB: pip install 'barnabas[sql]'."
    monkeypatch.setattr("barnabas.cli.sql.command.find_spec", lambda name: None)
    assert "pip install 'barnabas[sql]' for quick queries, 'barnabas[spark]' for all of SQL" in orders("sql", "SELECT 1").complaint


def test_options_that_do_not_go_together_are_refused(cli: Cli) -> None:
    assert cli("sql", "--stream").complaint == "--stream needs a query."


def test_aborted_records_are_not_read(kafka: EmbeddedBroker, cli: Cli) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "sql"})
    producer.init_transactions(PATIENCE_SECONDS)
    for number in range(3):
        producer.begin_transaction()
        producer.produce("orders", json.dumps({"n": number}).encode())
        (producer.abort_transaction if number == 1 else producer.commit_transaction)(PATIENCE_SECONDS)
    assert cli("sql", "SELECT n FROM orders ORDER BY n", "--csv").text == "n\n0\n2\n"


def test_a_topic_is_decoded_by_the_registry_of_an_option_or_a_property(kafka: EmbeddedBroker, cli: Cli) -> None:
    with RegistryProcess(kafka.bootstrap) as process, RegistryClient(process.url) as registry:
        schema = registry.register("orders-value", SchemaType.JSON, '{"type": "object", "properties": {"n": {"type": "integer"}}}')
        assert schema.id is not None
        producer = Producer({"bootstrap.servers": kafka.bootstrap})
        for number in range(3):
            producer.produce("orders", write_frame(schema.id, json.dumps({"n": number}).encode()))
        assert producer.flush(PATIENCE_SECONDS) == 0
        for named in (("--registry", process.url), ("-X", f"schema.registry.url={process.url}")):
            assert cli("sql", "SELECT sum(n) AS sum FROM orders", "--json", *named).json == {"sum": 3}
    refused = cli("sql", "SELECT n FROM orders", "--registry", "registry")
    assert refused.code == 1
    assert "The address of a registry is a URL such as http://localhost:8081" in refused.err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--schemas", "copy"), "--schemas copy needs --from-registry, or schema.registry.url among the properties of that cluster."),
        (("--from-registry", "http://r"), "--from-registry goes with --schemas copy or --schemas translate."),
    ],
)
def test_a_mirror_of_schemas_needs_both_registries(kafka: EmbeddedBroker, options: Sequence[str], sentence: str) -> None:
    pytest.importorskip("pyspark", reason="pip install 'barnabas[spark]'")
    with_clusters = ("--from", kafka.bootstrap, "--to", kafka.bootstrap, "--topics", "orders")
    refused = Cli()("mirror", *with_clusters, *options)
    assert (refused.code, refused.err) == (1, f"barnabas: {sentence}\n")
