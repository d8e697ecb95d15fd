"""The same console at a broker of Apache Kafka 4.3."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from barnabas.console.settings import ClusterSettings
from peers.apache_kafka import apache_kafka, why_missing
from tests.console.console_thread import ConsoleClient, ConsoleThread, console_of
from tests.console.disks_of_tests import moves_are_planned_seen_cancelled_and_made
from tests.registry_process import RegistryProcess
from tests.waiting import until

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=str(why_missing())), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def kafkas_console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ConsoleThread, str]]:
    data = tmp_path_factory.mktemp("kafka")
    disks = {"log.dirs": f"{data / 'a'},{data / 'b'}"}
    with apache_kafka(extra=disks) as (bootstrap, _), console_of(ClusterSettings("apache", bootstrap)) as console:
        yield console, bootstrap


@pytest.fixture
def at_kafka(kafkas_console: tuple[ConsoleThread, str]) -> ConsoleClient:
    return kafkas_console[0].client()


def test_views_and_changes_of_topics_work_at_apache_kafka(at_kafka: ConsoleClient) -> None:
    shown = at_kafka.get("/clusters/apache")
    assert (shown["health"], len(shown["brokers"]), [each["role"] for each in shown["quorum"]]) == ("good", 1, ["leader"])
    assert shown["missing"] == []
    at_kafka.post("/clusters/apache/topics", name="orders", partitions=2, configs="retention.ms=100000")
    topic = "/clusters/apache/topics/orders"
    at_kafka.post(f"{topic}/grow", partitions=3)
    until(lambda: len(at_kafka.get(topic)["partitions"]) == 3, "the broker shows the new partition")
    (setting,) = at_kafka.get(f"{topic}/settings", changed_only=True)["settings"]
    assert (setting["name"], setting["value"], setting["source"]) == ("retention.ms", "100000", "this topic")
    assert setting["documentation"]
    at_kafka.post(f"{topic}/settings", name="retention.ms", unset=True)
    until(lambda: not at_kafka.get(f"{topic}/settings", changed_only=True)["settings"], "the setting is unset")
    at_kafka.post(f"{topic}/clone", name="orders-copy")
    at_kafka.post(f"{topic}/delete", confirm_topic="orders")
    until(lambda: at_kafka.http.get(f"/api{topic}").status_code == 404, "the topic is gone")
    for path in ("", "/settings", "/users", "/records"):
        at_kafka.page(f"/clusters/apache/topics/orders-copy{path}")


def test_records_of_apache_kafka_are_read_found_and_sent(at_kafka: ConsoleClient, kafkas_console: tuple[ConsoleThread, str]) -> None:
    at_kafka.post("/clusters/apache/topics", name="payments", partitions=3)
    records = "/clusters/apache/topics/payments/records"
    producer = Producer({"bootstrap.servers": kafkas_console[1], "transactional.id": "payments", "partitioner": "murmur2_random"})
    producer.init_transactions(60)
    for outcome in ("commit", "abort"):
        producer.begin_transaction()
        for number in range(20):
            producer.produce("payments", json.dumps({"n": number, "outcome": outcome}), f"key-{number}")
        producer.flush()
        producer.commit_transaction() if outcome == "commit" else producer.abort_transaction()

    def states() -> tuple[int, set[tuple[str, str]]]:
        shown = at_kafka.get(records, begin="oldest", size=100)["records"]
        return len(shown), {(json.loads(each["value"]["text"])["outcome"], each["transaction"]) for each in shown}

    # Kafka writes the markers after it has answered the producer.
    until(lambda: states() == (40, {("commit", "committed"), ("abort", "aborted")}), "every marker is written", seen=states)
    found = at_kafka.get(records, begin="oldest", key="key-7")
    assert [json.loads(each["value"]["text"])["n"] for each in found["records"]] == [7, 7]
    assert len({each["partition"] for each in found["records"]}) == 1
    newest = at_kafka.get(records, size=5)["records"]
    assert {json.loads(each["value"]["text"])["outcome"] for each in newest} == {"abort"}
    sent = at_kafka.post(records, key="key-7", key_format="text", value="again")
    assert at_kafka.get(sent["location"])["record"]["value"]["text"] == "again"
    at_kafka.post("/clusters/apache/topics/payments/empty", confirm_topic="payments")
    assert at_kafka.get("/clusters/apache/topics/payments")["records_max"] == 0


def test_brokers_settings_log_levels_and_the_quorum_of_apache_kafka(at_kafka: ConsoleClient) -> None:
    brokers = "/clusters/apache/brokers"
    (broker,) = at_kafka.get(brokers)["brokers"]
    assert (broker["is_controller"], broker["version"], broker["is_fenced"]) == (True, "4.3-IV0", False)
    assert broker["disks"][0]["total_bytes"] > 0
    quorum = at_kafka.get(f"{brokers}/quorum")
    assert [each["role"] for each in quorum["replicas"]] == ["leader"]
    settings, name = f"{brokers}/{broker['id']}/settings", "log.cleaner.threads"

    def value() -> tuple[str, str]:
        (found,) = [each for each in at_kafka.get(settings, search=name)["settings"] if each["name"] == name]
        return found["value"], found["source"]

    before = value()
    (effect,) = at_kafka.get(f"{settings}/change", name=name, value=2)["effects"]
    assert (effect["before"], effect["after"], value()) == (before[0], "2", before)
    assert at_kafka.get(f"{settings}/change", name="node.id", value=2)["refused"] is not None
    at_kafka.post(settings, name=name, value=2)
    until(lambda: value() == ("2", "this broker, changed at run time"), "the broker has the new value")
    (effect,) = at_kafka.get(f"{settings}/change", name=name, unset=True)["effects"]
    assert (effect["after"], effect["after_source"]) == before
    at_kafka.post(settings, name=name, unset=True)
    until(lambda: value() == before, "the broker has its old value")
    loggers = f"{brokers}/{broker['id']}/loggers"
    at_kafka.post(loggers, name="root", level="ERROR")
    assert [each["level"] for each in at_kafka.get(loggers)["loggers"] if each["name"] == "root"] == ["ERROR"]
    for path in ("", f"/{broker['id']}", f"/{broker['id']}/settings", f"/{broker['id']}/loggers", "/all/settings", "/quorum", "/features"):
        at_kafka.page(f"{brokers}{path}")


def test_sql_schemas_and_pipelines_work_at_apache_kafka(at_kafka: ConsoleClient, kafkas_console: tuple[ConsoleThread, str]) -> None:
    bootstrap = kafkas_console[1]
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(6):
        producer.produce("sales", json.dumps({"shop": f"s{number % 2}", "cents": number}))
    report = {"event": "progress", "pipeline": "fraud", "query": "alerts", "batch": 3, "batch_ms": 40, "lag": {"payments": 2}}
    producer.produce("barnabas.pipelines.progress", json.dumps(report), "fraud.alerts")
    assert producer.flush(60) == 0
    query = "SELECT shop, sum(cents) AS total FROM sales GROUP BY shop ORDER BY shop"
    assert at_kafka.get("/clusters/apache/sql", query=query, run=True)["rows"] == [["s0", 6], ["s1", 9]]
    (pipeline,) = at_kafka.get("/clusters/apache/pipelines")["page"]["items"]
    assert (pipeline["name"], pipeline["state"], pipeline["lag"]) == ("fraud", "running", 2)
    with RegistryProcess(bootstrap) as registry, console_of(ClusterSettings("apache", bootstrap, registry=registry.url)) as console:
        client = console.client()
        client.post("/clusters/apache/schemas", subject="sales-value", schema='{"type": "object"}', type="JSON")
        assert client.get("/clusters/apache/topics/sales/schemas")["subjects"][0]["type"] == "JSON"


def test_moves_users_quotas_and_rates_of_apache_kafka(at_kafka: ConsoleClient) -> None:
    apache = "/clusters/apache"
    at_kafka.post(f"{apache}/topics", name="moved", partitions=2)
    until(lambda: at_kafka.http.get(f"/api{apache}/topics/moved").status_code == 200, "the broker knows the topic")
    plan = at_kafka.get(f"{apache}/reassignment/plan", topics="moved", brokers=1)
    assert (plan["partitions"], plan["page"]["total"], plan["ongoing"]) == (2, 0, 0)
    refused = at_kafka.http.get(f"/api{apache}/reassignment/plan", params={"drain": 1})
    assert "cannot be drained" in refused.json()["error"]
    assert at_kafka.get(f"{apache}/reassignment/leaders")["page"]["total"] == 0
    security = f"{apache}/security"
    at_kafka.post(f"{security}/users", user="alice", password="secret-of-alice")
    until(lambda: at_kafka.get(f"{security}/users")["page"]["total"] == 1, "the user is listed")
    (user,) = at_kafka.get(f"{security}/users")["page"]["items"]
    assert user == {"name": "alice", "credentials": [{"mechanism": "SCRAM-SHA-512", "iterations": 8192}]}
    at_kafka.post(f"{security}/users/remove", user="alice")
    at_kafka.post(f"{security}/quotas", user="alice", name="consumer_byte_rate", value="1MB")
    until(lambda: at_kafka.get(f"{security}/quotas")["page"]["total"] == 1, "the quota is listed")
    (sentence,) = at_kafka.get(f"{security}/rules")["missing"]
    assert sentence.startswith("The brokers have no authorizer")
    assert at_kafka.get(f"{security}/tokens")["missing"] is not None
    until(lambda: at_kafka.get(f"{apache}/rates")["charts"] != [], "the console has rates")
    for path in ("reassignment", "reassignment/leaders", "security", "security/rules", "security/users", "security/quotas", "rates"):
        at_kafka.page(f"{apache}/{path}")


def test_replicas_of_apache_kafka_move_between_its_directories(at_kafka: ConsoleClient, kafkas_console: tuple[ConsoleThread, str]) -> None:
    moves_are_planned_seen_cancelled_and_made(at_kafka, "apache", kafkas_console[1])


def test_a_level_of_a_feature_of_apache_kafka_is_checked_lowered_and_raised(at_kafka: ConsoleClient) -> None:
    features = "/clusters/apache/brokers/features"
    shown = {each["name"]: each["level"] for each in at_kafka.get(features)["features"]}
    assert shown["group.version"] == 1
    assert at_kafka.get(f"{features}/change", name="group.version", level=0)["refused"] is None
    at_kafka.post(features, name="group.version", level=0, before=1)

    def level() -> int:
        found: int = next(each["level"] for each in at_kafka.get(features)["features"] if each["name"] == "group.version")
        return found

    until(lambda: level() == 0, "the lower level is in force")
    at_kafka.post(features, name="group.version", level=1, before=0)
    until(lambda: level() == 1, "the level is in force again")
    refused = at_kafka.get(f"{features}/change", name="metadata.version", level=99)["refused"]
    assert refused.startswith("The level of metadata.version cannot be 99: ")
