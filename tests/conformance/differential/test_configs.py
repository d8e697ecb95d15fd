"""DescribeConfigs, IncrementalAlterConfigs, AlterConfigs and ListConfigResources."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages import alter_configs as replacing, incremental_alter_configs as incremental
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.messages.list_config_resources import ListConfigResourcesRequest
from tests.conformance.differential.pair import Pair

UNKNOWN, TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 0, 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
KIND = {TOPIC: "topic", BROKER: "broker", BROKER_LOGGER: "logger", CLIENT_METRICS: "client metrics", GROUP: "group"}

Change = tuple[str, int, str | None]


def describing(
    *resources: tuple[int, str], keys: list[str] | None = None, synonyms: bool = True, docs: bool = False
) -> DescribeConfigsRequest:
    return DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys) for kind, name in resources],
        include_synonyms=synonyms,
        include_documentation=docs,
    )


def altering(*resources: tuple[int, str, list[Change]], dry: bool = False) -> incremental.IncrementalAlterConfigsRequest:
    return incremental.IncrementalAlterConfigsRequest(
        resources=[
            incremental.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    incremental.AlterableConfig(name=key, config_operation=operation, value=value) for key, operation, value in changes
                ],
            )
            for kind, name, changes in resources
        ],
        validate_only=dry,
    )


def replacing_all(*resources: tuple[int, str, list[tuple[str, str | None]]], dry: bool = False) -> replacing.AlterConfigsRequest:
    return replacing.AlterConfigsRequest(
        resources=[
            replacing.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[replacing.AlterableConfig(name=key, value=value) for key, value in values],
            )
            for kind, name, values in resources
        ],
        validate_only=dry,
    )


@contextmanager
def altered(pair: Pair, kind: int, name: str, *changes: Change) -> Iterator[None]:
    """A change on both sides that is taken back."""
    pair.same(altering((kind, name, list(changes))), [1])
    pair.soon_same(describing((kind, name)), [1])
    try:
        yield
    finally:
        pair.same(altering((kind, name, [(key, DELETE, None) for key, _, _ in changes])), [1])
        pair.soon_same(describing((kind, name)), [1])


# -- describing ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("docs", [False, True], ids=["", "with docs"])
@pytest.mark.parametrize("synonyms", [False, True], ids=["", "with synonyms"])
def test_a_topic_shows_all_its_settings(pair: Pair, synonyms: bool, docs: bool) -> None:
    name = f"described-{synonyms}-{docs}"
    own = {"cleanup.policy": "compact", "retention.ms": "5", "min.compaction.lag.ms": " 7 ", "segment.bytes": "2000000"}
    pair.create(name, configs=own)
    pair.same(describing((TOPIC, name), synonyms=synonyms, docs=docs))


@pytest.mark.parametrize("docs", [False, True], ids=["", "with docs"])
def test_a_broker_shows_all_its_settings(pair: Pair, docs: bool) -> None:
    pair.same(describing((BROKER, "1"), docs=docs))
    pair.same(describing((BROKER, "1"), synonyms=False))


def test_dynamic_settings_show_in_the_chain(pair: Pair) -> None:
    pair.create("chained", configs={"retention.ms": "5"})
    everything = describing((TOPIC, "chained"), (BROKER, "1"), (BROKER, ""))
    with altered(pair, BROKER, "", ("log.retention.ms", SET, "777000"), ("log.cleaner.threads", SET, "1"), ("log.roll.ms", SET, "6000")):
        pair.same(everything)
        with altered(pair, BROKER, "1", ("log.retention.ms", SET, "888000"), ("message.max.bytes", SET, "2000000")):
            pair.same(everything)
            pair.create("chained-later")
            pair.same(describing((TOPIC, "chained-later")))
    pair.same(everything)


@pytest.mark.parametrize("kind", [GROUP, CLIENT_METRICS], ids=KIND.get)
def test_groups_and_client_metrics_show_theirs(pair: Pair, kind: int) -> None:
    pair.same(describing((kind, "somebody"), docs=True))
    changes: dict[int, list[Change]] = {
        GROUP: [("consumer.session.timeout.ms", SET, "50000"), ("share.isolation.level", SET, "read_committed")],
        CLIENT_METRICS: [("interval.ms", SET, "1000"), ("metrics", SET, "a.b,c"), ("match", SET, "client_id=a.*")],
    }
    with altered(pair, kind, "somebody", *changes[kind]):
        pair.same(describing((kind, "somebody")))
        pair.same(ListConfigResourcesRequest(resource_types=[kind]))
    pair.same(describing((kind, "somebody")))


DESCRIBED: list[tuple[int, str]] = [
    *((TOPIC, name) for name in ("missing", "a b", "", "..")),
    *((BROKER, name) for name in ("2", "x", "-1", "01", " 1")),
    *((BROKER_LOGGER, name) for name in ("", "2", "x")),
    *((kind, "") for kind in (GROUP, CLIENT_METRICS)),
    *((kind, "1") for kind in (UNKNOWN, 1, 3, 64, -1)),
]


@pytest.mark.parametrize("resource", DESCRIBED, ids=str)
def test_what_cannot_be_described(pair: Pair, resource: tuple[int, str]) -> None:
    pair.same(describing(resource))


def test_single_settings(pair: Pair) -> None:
    pair.create("single")
    for keys in (["retention.ms"], ["retention.ms", "cleanup.policy"], ["no.such.setting"], ["retention.ms", "retention.ms"], []):
        pair.same(describing((TOPIC, "single"), (BROKER, "1"), (GROUP, "g"), keys=keys))
    pair.same(describing((BROKER, "1"), keys=["log.retention.ms", "advertised.listeners", "ssl.keystore.password", "num.partitions"]))


def test_resources_named_twice_or_not_at_all(pair: Pair) -> None:
    pair.same(describing())
    pair.same(describing((GROUP, "a"), (GROUP, "a"), (TOPIC, "missing")))


def test_controllers_describe_too(pair: Pair) -> None:
    pair.create("at-controller")
    pair.same(describing((TOPIC, "at-controller"), (TOPIC, "missing")), to_controller=True)
    pair.same(describing((BROKER, "1"), keys=["num.partitions", "log.retention.ms"]), to_controller=True)
    pair.same(describing((BROKER, "")), to_controller=True)


# -- changing -----------------------------------------------------------------------------------------------------------------

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
def test_changes_of_a_topic(pair: Pair, what: str, changes: list[Change]) -> None:
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
def test_changes_of_brokers_are_judged_alike(pair: Pair, what: str, changes: list[Change], name: str) -> None:
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
    (BROKER, "1", ("listener.name.a.ssl.keystore.location", SET, "x"), ErrorCode.INVALID_CONFIG, "TLS listeners are still to come"),
    (BROKER, "1", ("num.io.threads", SET, "99"), ErrorCode.NONE, "Kafka may at most double its threads at a time; we have none"),
]


@pytest.mark.parametrize(("kind", "name", "change", "ours", "why"), DECIDED_OTHERWISE, ids=lambda each: str(each)[:40])
def test_changes_we_decide_otherwise_on_purpose(pair: Pair, kind: int, name: str, change: Change, ours: ErrorCode, why: str) -> None:
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
def test_other_changes_are_judged_alike(pair: Pair, change: tuple[int, str, list[Change]]) -> None:
    pair.same(altering(change, dry=True))


def test_resources_are_decided_one_by_one(pair: Pair) -> None:
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


# -- replacing ----------------------------------------------------------------------------------------------------------------

REPLACEMENTS: list[tuple[str, list[tuple[str, str | None]]]] = [
    ("one", [("retention.ms", "1000")]),
    ("another", [("segment.ms", "1000")]),
    ("nothing", []),
    ("null", [("retention.ms", None)]),
    ("nonsense", [("retention.ms", "soon")]),
    ("unknown", [("no.such", "1")]),
    ("twice", [("retention.ms", "1"), ("retention.ms", "2")]),
]


@pytest.mark.parametrize(("what", "values"), REPLACEMENTS, ids=[what for what, _ in REPLACEMENTS])
def test_settings_replaced(pair: Pair, what: str, values: list[tuple[str, str | None]]) -> None:
    name = f"replaced-{[each for each, _ in REPLACEMENTS].index(what)}"
    pair.create(name, configs={"retention.ms": "4", "cleanup.policy": "compact"})
    pair.same(replacing_all((TOPIC, name, values), dry=True))
    pair.soon_same(describing((TOPIC, name)), [4])
    pair.same(replacing_all((TOPIC, name, values)))
    pair.soon_same(describing((TOPIC, name)), [4])


def test_replacing_is_judged_alike(pair: Pair) -> None:
    replacements: list[list[tuple[str, str | None]]] = [
        [("log.retention.ms", "5")],
        [("num.partitions", "5")],
        [("log.retention.ms", None)],
        [],
    ]
    for name in ("1", "", "2", "x"):
        for values in replacements:
            pair.same(replacing_all((BROKER, name, values), dry=True))
    for kind, name in ((TOPIC, "missing"), (TOPIC, ""), (GROUP, ""), (CLIENT_METRICS, ""), (BROKER_LOGGER, "1"), (UNKNOWN, "1"), (3, "1")):
        pair.same(replacing_all((kind, name, [("retention.ms", "5")]), dry=True))
    pair.same(replacing_all((GROUP, "g", [("consumer.session.timeout.ms", "50000")]), dry=True))
    pair.same(replacing_all((CLIENT_METRICS, "m", [("interval.ms", "1000")]), dry=True))
    # Kafka never answers when a resource is named twice.
    twice = pair.barnabas.broker.ask(replacing_all((TOPIC, "missing", []), (TOPIC, "missing", []), dry=True), 2)
    assert [each.error_code for each in twice.responses] == [ErrorCode.INVALID_REQUEST] * 2
    pair.same(replacing_all(dry=True))


# -- listing ------------------------------------------------------------------------------------------------------------------


def test_resources_with_settings(pair: Pair) -> None:
    pair.create("listed")
    with (
        altered(pair, GROUP, "a-group", ("share.isolation.level", SET, "read_committed")),
        altered(pair, CLIENT_METRICS, "some-metrics", ("interval.ms", SET, "1000")),
    ):
        pair.same(ListConfigResourcesRequest())
        for kinds in ([TOPIC], [BROKER], [BROKER_LOGGER], [CLIENT_METRICS], [GROUP], [TOPIC, GROUP], [TOPIC, TOPIC]):
            pair.same(ListConfigResourcesRequest(resource_types=kinds))
    for kinds in ([UNKNOWN], [1], [64], [TOPIC, 3]):
        pair.same(ListConfigResourcesRequest(resource_types=kinds))
