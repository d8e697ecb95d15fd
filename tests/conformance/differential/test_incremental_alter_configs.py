"""IncrementalAlterConfigs."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from tests.conformance.differential.config_requests import (
    APPEND,
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    SUBTRACT,
    TOPIC,
    UNKNOWN,
    Change,
    altering,
    describing,
)
from tests.conformance.differential.pair import Pair

CHANGES: list[tuple[str, list[Change]]] = [
    ("set", [("retention.ms", SET, "1000")]),
    ("set two", [("retention.ms", SET, "1000"), ("segment.ms", SET, "99")]),
    ("set with spaces", [("retention.ms", SET, " 1000 ")]),
    ("set to nonsense", [("retention.ms", SET, "soon")]),
    ("set too small", [("segment.bytes", SET, "1")]),
    ("set to null", [("retention.ms", SET, None)]),
    ("set to nothing", [("retention.ms", SET, "")]),
    ("set unknown", [("no.such", SET, "1")]),
    ("set nameless", [("", SET, "1")]),
    ("set a broker's", [("log.retention.ms", SET, "1")]),
    ("set list", [("cleanup.policy", SET, "compact")]),
    ("set list empty", [("cleanup.policy", SET, "")]),
    ("set list wrong", [("cleanup.policy", SET, "burn")]),
    ("set lags", [("min.compaction.lag.ms", SET, "9"), ("max.compaction.lag.ms", SET, "5")]),
    ("set internal", [("internal.segment.bytes", SET, "100")]),
    ("delete", [("retention.ms", DELETE, None)]),
    ("delete with value", [("retention.ms", DELETE, "5")]),
    ("delete unset", [("segment.ms", DELETE, None)]),
    ("delete unknown", [("no.such", DELETE, None)]),
    ("append", [("cleanup.policy", APPEND, "compact")]),
    ("append present", [("cleanup.policy", APPEND, "delete")]),
    ("append two", [("cleanup.policy", APPEND, "compact,delete")]),
    ("append wrong", [("cleanup.policy", APPEND, "burn")]),
    ("append null", [("cleanup.policy", APPEND, None)]),
    ("append nothing", [("cleanup.policy", APPEND, "")]),
    ("append spaces", [("cleanup.policy", APPEND, " compact ")]),
    ("append to number", [("retention.ms", APPEND, "5")]),
    ("append unknown", [("no.such", APPEND, "5")]),
    ("subtract", [("cleanup.policy", SUBTRACT, "delete")]),
    ("subtract absent", [("cleanup.policy", SUBTRACT, "compact")]),
    ("subtract null", [("cleanup.policy", SUBTRACT, None)]),
    ("subtract number", [("retention.ms", SUBTRACT, "5")]),
    ("twice", [("retention.ms", SET, "5"), ("retention.ms", SET, "6")]),
    ("twice, differently", [("retention.ms", SET, "5"), ("retention.ms", DELETE, None)]),
    ("none", []),
]


@pytest.mark.parametrize(("what", "changes"), CHANGES, ids=[what for what, _ in CHANGES])
def test_incremental_alter_configs_changes_a_topic(pair: Pair, what: str, changes: list[Change]) -> None:
    name = f"changed-{[each for each, _ in CHANGES].index(what)}"
    pair.create(name, configs={"retention.ms": "4"})
    pair.same(altering((TOPIC, name, changes), dry=True))
    pair.soon_same(describing((TOPIC, name)), [4])
    pair.same(altering((TOPIC, name, changes)))
    pair.soon_same(describing((TOPIC, name)), [4])


BROKER_CHANGES: list[tuple[str, list[Change]]] = [
    ("cluster-wide", [("log.retention.ms", SET, "1000")]),
    ("per broker", [("advertised.listeners", SET, "PLAINTEXT://localhost:1")]),
    ("keystore", [("ssl.keystore.location", SET, "/nowhere")]),
    ("read-only", [("num.partitions", SET, "2")]),
    ("read-only, deleted", [("num.partitions", DELETE, None)]),
    ("read-only, nonsense", [("node.id", SET, "x")]),
    ("unknown, deleted", [("no.such", DELETE, None)]),
    ("nonsense", [("log.retention.ms", SET, "soon")]),
    ("too small", [("log.segment.bytes", SET, "1")]),
    ("null", [("log.retention.ms", SET, None)]),
    ("list append", [("log.cleanup.policy", APPEND, "compact")]),
    ("list subtract", [("log.cleanup.policy", SUBTRACT, "delete")]),
    ("append to number", [("log.retention.ms", APPEND, "1")]),
    ("throttle", [("leader.replication.throttled.rate", SET, "1000")]),
    ("throttle nonsense", [("leader.replication.throttled.rate", SET, "x")]),
    ("threads", [("num.io.threads", SET, "9")]),
    ("no threads", [("num.io.threads", SET, "0")]),
    ("min.insync.replicas", [("min.insync.replicas", SET, "2")]),
    ("unclean election", [("unclean.leader.election.enable", SET, "true")]),
    ("max.connections", [("max.connections", SET, "100")]),
    ("metric.reporters", [("metric.reporters", SET, "")]),
    ("two", [("log.retention.ms", SET, "1"), ("num.partitions", SET, "1")]),
    ("twice", [("log.retention.ms", SET, "1"), ("log.retention.ms", SET, "1")]),
    ("none", []),
]


@pytest.mark.parametrize("name", ["1", ""], ids=["one broker", "all brokers"])
@pytest.mark.parametrize(("what", "changes"), BROKER_CHANGES, ids=[what for what, _ in BROKER_CHANGES])
def test_incremental_alter_configs_judges_settings_of_brokers(pair: Pair, what: str, changes: list[Change], name: str) -> None:
    pair.same(altering((BROKER, name, changes), dry=True))


DECIDED_OTHERWISE: list[tuple[int, str, Change, ErrorCode, str]] = [
    (
        TOPIC,
        "otherwise",
        ("retention.ms", 4, "5"),
        ErrorCode.INVALID_REQUEST,
        "Kafka trips over an unknown operation: UNKNOWN_SERVER_ERROR",
    ),
    (
        TOPIC,
        "otherwise",
        ("retention.ms", -1, "5"),
        ErrorCode.INVALID_REQUEST,
        "Kafka trips over an unknown operation: UNKNOWN_SERVER_ERROR",
    ),
    (BROKER, "1", ("no.such", SET, "1"), ErrorCode.INVALID_CONFIG, "Kafka keeps settings nobody reads; we take them for typing errors"),
    (BROKER, "", ("retention.ms", SET, "1"), ErrorCode.INVALID_CONFIG, "Kafka keeps settings nobody reads; we take them for typing errors"),
    (
        BROKER,
        "1",
        ("listener.name.a.ssl.keystore.location", SET, "x"),
        ErrorCode.INVALID_REQUEST,
        "Kafka keeps settings of a listener that does not exist; we take them for typing errors",
    ),
    (BROKER, "1", ("num.io.threads", SET, "99"), ErrorCode.NONE, "Kafka may at most double its threads at a time; we have none"),
]


@pytest.mark.parametrize(("kind", "name", "change", "ours", "why"), DECIDED_OTHERWISE, ids=lambda each: str(each)[:40])
def test_incremental_alter_configs_deviates_on_purpose(pair: Pair, kind: int, name: str, change: Change, ours: ErrorCode, why: str) -> None:
    if kind == TOPIC:
        pair.create(f"otherwise-{change[1]}")
        name = f"otherwise-{change[1]}"
    differ = {"responses[].error_code": why, "responses[].error_message": why}
    for kafka, barnabas in pair.same(altering((kind, name, [change]), dry=True), differ=differ):
        assert barnabas.responses[0].error_code == ours != kafka.responses[0].error_code


OTHER_CHANGES: list[tuple[int, str, list[Change]]] = [
    (BROKER, "2", [("log.retention.ms", SET, "1000")]),
    (BROKER, "x", [("log.retention.ms", SET, "1000")]),
    (BROKER, "-1", [("log.retention.ms", SET, "1000")]),
    (TOPIC, "missing", [("retention.ms", SET, "1000")]),
    (TOPIC, "a b", [("retention.ms", SET, "1000")]),
    (TOPIC, "", [("retention.ms", SET, "1000")]),
    (GROUP, "g", [("consumer.session.timeout.ms", SET, "50000")]),
    (GROUP, "g", [("consumer.session.timeout.ms", SET, "1")]),
    (GROUP, "g", [("consumer.session.timeout.ms", SET, "99999999")]),
    (GROUP, "g", [("consumer.heartbeat.interval.ms", SET, "5000")]),
    (GROUP, "g", [("consumer.heartbeat.interval.ms", SET, "15001")]),
    (GROUP, "g", [("share.record.lock.duration.ms", SET, "1")]),
    (GROUP, "g", [("share.auto.offset.reset", SET, "earliest")]),
    (GROUP, "g", [("share.auto.offset.reset", SET, "sometime")]),
    (GROUP, "g", [("streams.num.standby.replicas", SET, "3")]),
    (GROUP, "g", [("no.such", SET, "1")]),
    (GROUP, "g", [("no.such", DELETE, None)]),
    (GROUP, "g", [("consumer.session.timeout.ms", DELETE, None)]),
    (GROUP, "", [("consumer.session.timeout.ms", SET, "50000")]),
    (CLIENT_METRICS, "m", [("interval.ms", SET, "1000")]),
    (CLIENT_METRICS, "m", [("interval.ms", SET, "1")]),
    (CLIENT_METRICS, "m", [("interval.ms", SET, "x")]),
    (CLIENT_METRICS, "m", [("metrics", SET, "")]),
    (CLIENT_METRICS, "m", [("metrics", APPEND, "a")]),
    (CLIENT_METRICS, "m", [("match", SET, "client_id=(")]),
    (CLIENT_METRICS, "m", [("match", SET, "nobody=1")]),
    (CLIENT_METRICS, "m", [("no.such", SET, "1")]),
    (CLIENT_METRICS, "m", [("no.such", DELETE, None)]),
    (CLIENT_METRICS, "", [("interval.ms", SET, "1000")]),
    (BROKER_LOGGER, "1", [("root", SET, "INFO")]),
    (BROKER_LOGGER, "1", [("root", SET, "LOUD")]),
    (BROKER_LOGGER, "1", [("root", SET, "TRACE")]),
    (BROKER_LOGGER, "1", [("root", SET, "info")]),
    (BROKER_LOGGER, "1", [("root", SET, "OFF")]),
    (BROKER_LOGGER, "1", [("root", DELETE, None)]),
    (BROKER_LOGGER, "1", [("no.such.logger", SET, "INFO")]),
    (BROKER_LOGGER, "1", [("root", APPEND, "INFO")]),
    (BROKER_LOGGER, "1", [("root", SUBTRACT, "INFO")]),
    (BROKER_LOGGER, "1", [("root", SET, None)]),
    (BROKER_LOGGER, "1", [("root", SET, "INFO"), ("root", SET, "INFO")]),
    (BROKER_LOGGER, "1", []),
    (BROKER_LOGGER, "2", [("root", SET, "INFO")]),
    (BROKER_LOGGER, "", [("root", SET, "INFO")]),
    (BROKER_LOGGER, "x", [("root", SET, "INFO")]),
]
OTHER_CHANGES += [(kind, "1", [("root", SET, "INFO")]) for kind in (UNKNOWN, 1, 3, 64, -1)]


@pytest.mark.parametrize("change", OTHER_CHANGES, ids=str)
def test_incremental_alter_configs_judges_other_resources(pair: Pair, change: tuple[int, str, list[Change]]) -> None:
    pair.same(altering(change, dry=True))


def test_incremental_alter_configs_judges_resources_one_by_one(pair: Pair) -> None:
    pair.create("decided")
    good: list[Change] = [("retention.ms", SET, "9")]
    pair.same(altering())
    pair.same(altering((TOPIC, "decided", good), (TOPIC, "missing", good), (GROUP, "g", good)))
    pair.same(altering((TOPIC, "decided", good), (TOPIC, "decided", good)))
    pair.same(altering((BROKER_LOGGER, "1", [("root", SET, "INFO")]), (TOPIC, "decided", good), dry=True))
    pair.same(describing((TOPIC, "decided")), [4])
    pair.same(altering((TOPIC, "decided", good), (BROKER, "x", good)), to_controller=True)
    pair.same(altering((BROKER_LOGGER, "1", [("root", SET, "INFO")])), to_controller=True)
    for name in ("1", "", "2", "x"):
        pair.same(altering((BROKER, name, [("log.retention.ms", SET, "5")]), dry=True), to_controller=True)
    careless = {
        "responses[].error_code": "Kafka's controllers take any setting of a broker",
        "responses[].error_message": "so they say nothing",
    }
    for change in (("num.partitions", SET, "5"), ("log.retention.ms", SET, "soon")):
        pair.same(altering((BROKER, "1", [change]), dry=True), to_controller=True, differ=careless)
    for name in ("", "a b", "missing"):
        pair.same(altering((TOPIC, name, good)), to_controller=True)
