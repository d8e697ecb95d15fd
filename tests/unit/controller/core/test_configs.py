"""IncrementalAlterConfigs and AlterConfigs: the records they write, and every refusal."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages import alter_configs as replacing
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from barnabas.wire.metadata_records import ConfigRecord
from tests.unit.controller.core.deciding import Office
from tests.unit.metadata.made import registered, topic

TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
REFUSED = ErrorCode.INVALID_REQUEST
Change = tuple[str, int, str | None]


def office() -> Office:
    return Office([registered(1), *topic(1, "t", [1]), *topic(2, "u", [1])])


def alter(kind: int, name: str, *changes: Change) -> AlterConfigsResource:
    configs = [AlterableConfig(name=key, config_operation=operation, value=value) for key, operation, value in changes]
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)


def request(*resources: AlterConfigsResource, dry: bool = False) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest(resources=list(resources), validate_only=dry)


def settings(desk: Office, kind: int, name: str) -> dict[str, str]:
    return dict(desk.image.configs.by_resource.get((kind, name), {}))  # type: ignore[call-overload]


def changed(desk: Office, kind: int, name: str, *changes: Change) -> dict[str, str]:
    """The settings after a change that must be allowed."""
    (answer,) = desk.ask(request(alter(kind, name, *changes))).responses
    assert (answer.error_code, answer.error_message) == (0, None)
    return settings(desk, kind, name)


def refusal(kind: int, name: str, *changes: Change) -> ErrorCode:
    desk = office()
    outcome = desk.decide(request(alter(kind, name, *changes)))
    (answer,) = outcome.response.responses
    assert outcome.records == []
    assert answer.error_message
    assert (answer.resource_type, answer.resource_name) == (kind, name)
    return ErrorCode(answer.error_code)


# -- changing ---------------------------------------------------------------------------------


def test_settings_are_set_changed_and_removed() -> None:
    desk = office()
    assert changed(desk, TOPIC, "t", ("retention.ms", SET, "5"), ("segment.bytes", SET, "2000000")) == {
        "retention.ms": "5",
        "segment.bytes": "2000000",
    }
    assert changed(desk, TOPIC, "t", ("retention.ms", SET, "6")) == {"retention.ms": "6", "segment.bytes": "2000000"}
    assert changed(desk, TOPIC, "t", ("retention.ms", DELETE, None), ("flush.ms", DELETE, None)) == {"segment.bytes": "2000000"}


def test_an_unchanged_setting_is_not_written_again() -> None:
    desk = office()
    changed(desk, TOPIC, "t", ("retention.ms", SET, "5"))
    assert desk.decide(request(alter(TOPIC, "t", ("retention.ms", SET, "5")))).records == []
    assert desk.decide(request(alter(TOPIC, "t", ("flush.ms", DELETE, None)))).records == []


def test_an_unchanged_setting_of_a_broker_is_written_again_so_that_it_reads_its_files_again() -> None:
    desk = office()
    location = ("listener.name.ssl.ssl.keystore.location", SET, "/node.pem")
    assert changed(desk, BROKER, "1", location) == {"listener.name.ssl.ssl.keystore.location": "/node.pem"}
    assert len(desk.decide(request(alter(BROKER, "1", location))).records) == 1


def test_append_and_subtract_start_from_the_effective_list() -> None:
    desk = office()
    assert changed(desk, TOPIC, "t", ("cleanup.policy", APPEND, "compact")) == {"cleanup.policy": "delete,compact"}
    assert changed(desk, TOPIC, "t", ("cleanup.policy", APPEND, "compact")) == {"cleanup.policy": "delete,compact"}
    assert changed(desk, TOPIC, "t", ("cleanup.policy", SUBTRACT, "delete")) == {"cleanup.policy": "compact"}


@pytest.mark.parametrize(
    ("kind", "name", "key", "value"),
    [
        (TOPIC, "t", "retention.ms", "1"),
        (BROKER, "", "message.max.bytes", "1"),
        (BROKER, "1", "message.max.bytes", "1"),
        (GROUP, "any", "consumer.session.timeout.ms", "50000"),
        (CLIENT_METRICS, "any", "interval.ms", "1000"),
    ],
)
def test_every_kind_of_resource(kind: int, name: str, key: str, value: str) -> None:
    assert changed(office(), kind, name, (key, SET, value)) == {key: value}


def test_validate_only_changes_nothing() -> None:
    desk = office()
    outcome = desk.decide(request(alter(TOPIC, "t", ("retention.ms", SET, "5")), dry=True))
    assert (outcome.response.responses[0].error_code, outcome.records) == (0, [])


def test_every_resource_is_decided_by_itself() -> None:
    desk = office()
    answers = desk.ask(
        request(alter(TOPIC, "t", ("retention.ms", SET, "5")), alter(TOPIC, "u", ("retention.ms", SET, "x")), alter(TOPIC, "missing"))
    ).responses
    assert [each.error_code for each in answers] == [0, ErrorCode.INVALID_CONFIG, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert settings(desk, TOPIC, "t") == {"retention.ms": "5"}
    assert settings(desk, TOPIC, "u") == {}


def test_one_wrong_setting_spoils_its_resource() -> None:
    desk = office()
    desk.ask(request(alter(TOPIC, "t", ("retention.ms", SET, "5"), ("segment.bytes", SET, "x"))))
    assert settings(desk, TOPIC, "t") == {}


# -- refusing ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name", "change", "error"),
    [
        (TOPIC, "missing", ("retention.ms", SET, "1"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "", ("retention.ms", SET, "1"), REFUSED),
        (TOPIC, "a/b", ("retention.ms", SET, "1"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "t", ("retention.ms", SET, "soon"), ErrorCode.INVALID_CONFIG),
        (TOPIC, "t", ("no.such", SET, "1"), ErrorCode.INVALID_CONFIG),
        (TOPIC, "t", ("retention.ms", SET, None), REFUSED),
        (TOPIC, "t", ("retention.ms", 9, "1"), REFUSED),
        (TOPIC, "t", ("retention.ms", -1, "1"), REFUSED),
        (TOPIC, "t", ("retention.ms", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (TOPIC, "t", ("no.such", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (TOPIC, "t", ("cleanup.policy", APPEND, "burn"), ErrorCode.INVALID_CONFIG),
        (BROKER, "one", ("message.max.bytes", SET, "1"), REFUSED),
        (BROKER, "-1", ("message.max.bytes", SET, "1"), REFUSED),
        (BROKER, "1" * 5000, ("message.max.bytes", SET, "1"), REFUSED),
        (BROKER, "7", ("message.max.bytes", SET, "1"), ErrorCode.BROKER_ID_NOT_REGISTERED),
        (BROKER, "1", ("message.max.bytes", SET, "x"), REFUSED),
        (BROKER, "1", ("no.such", SET, "x"), ErrorCode.INVALID_CONFIG),
        (BROKER, "1", ("node.id", SET, "4"), REFUSED),
        (BROKER, "", ("advertised.listeners", SET, "PLAINTEXT://h:1"), REFUSED),
        (BROKER, "1", ("ssl.keystore.password", SET, "x"), REFUSED),
        (BROKER, "", ("listener.name.ssl.ssl.keystore.password", SET, "x"), REFUSED),
        (BROKER, "1", ("listener.name.ssl.ssl.principal.mapping.rules", SET, "DEFAULT"), REFUSED),
        (BROKER, "1", ("listener.name.ssl.ssl.keystor.password", SET, "x"), REFUSED),
        (BROKER, "1", ("listener.name.ssl.num.partitions", SET, "1"), REFUSED),
        (BROKER, "1", ("listener.name.ssl.ssl.client.auth", SET, "perhaps"), REFUSED),
        (GROUP, "", ("consumer.session.timeout.ms", SET, "50000"), REFUSED),
        (GROUP, "g", ("consumer.session.timeout.ms", SET, "1"), ErrorCode.INVALID_CONFIG),
        (GROUP, "g", ("no.such", SET, "1"), ErrorCode.INVALID_CONFIG),
        (CLIENT_METRICS, "", ("interval.ms", SET, "1000"), REFUSED),
        (CLIENT_METRICS, "m", ("interval.ms", SET, "1"), REFUSED),
        (CLIENT_METRICS, "m", ("no.such", SET, "1"), REFUSED),
        (CLIENT_METRICS, "m", ("metrics", APPEND, "a"), ErrorCode.INVALID_CONFIG),
        (0, "x", ("a", SET, "1"), REFUSED),
        (8, "1", ("root", SET, "INFO"), REFUSED),
        (99, "x", ("a", SET, "1"), REFUSED),
        (-1, "x", ("a", SET, "1"), REFUSED),
    ],
)
def test_refusals(kind: int, name: str, change: Change, error: ErrorCode) -> None:
    assert refusal(kind, name, change) == error


def test_a_setting_named_twice() -> None:
    assert refusal(TOPIC, "t", ("retention.ms", SET, "1"), ("retention.ms", SET, "2")) == REFUSED


def test_a_resource_named_twice_changes_neither_time() -> None:
    desk = office()
    outcome = desk.decide(request(alter(TOPIC, "t", ("retention.ms", SET, "5")), alter(TOPIC, "t", ("flush.ms", SET, "5"))))
    assert {each.error_code for each in outcome.response.responses} == {REFUSED}
    assert outcome.records == []


def test_settings_that_name_classes_are_refused() -> None:
    """CVE-2025-27819: a JAAS configuration set at run time. Here no such setting is dynamic, and no
    class is loaded by its name."""
    for key in ("sasl.jaas.config", "authorizer.class.name", "principal.builder.class", "log.dirs"):
        assert refusal(BROKER, "", (key, SET, "com.sun.security.auth.module.JndiLoginModule")) in (REFUSED, ErrorCode.INVALID_CONFIG)


# -- AlterConfigs -----------------------------------------------------------------------------


def replace_all(desk: Office, kind: int, name: str, values: dict[str, str | None], *, dry: bool = False) -> int:
    configs = [replacing.AlterableConfig(name=key, value=value) for key, value in values.items()]
    resource = replacing.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    (answer,) = desk.ask(replacing.AlterConfigsRequest(resources=[resource], validate_only=dry)).responses
    code: int = answer.error_code
    return code


def test_alter_configs_removes_settings_that_it_does_not_name() -> None:
    desk = office()
    changed(desk, TOPIC, "t", ("retention.ms", SET, "5"), ("flush.ms", SET, "6"))
    assert replace_all(desk, TOPIC, "t", {"flush.ms": "7"}) == 0
    assert settings(desk, TOPIC, "t") == {"flush.ms": "7"}
    assert replace_all(desk, TOPIC, "t", {}, dry=True) == 0
    assert settings(desk, TOPIC, "t") == {"flush.ms": "7"}
    assert replace_all(desk, TOPIC, "t", {}) == 0
    assert settings(desk, TOPIC, "t") == {}


def test_alter_configs_refuses_the_same_changes_as_the_incremental_request() -> None:
    desk = office()
    assert replace_all(desk, TOPIC, "missing", {}) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert replace_all(desk, TOPIC, "t", {"retention.ms": "x"}) == ErrorCode.INVALID_CONFIG
    assert replace_all(desk, TOPIC, "t", {"retention.ms": None}) == REFUSED
    assert replace_all(desk, BROKER, "1", {"node.id": "4"}) == REFUSED


# -- min.insync.replicas, and eligible leader replicas ----------------------------------------

MIN_ISR = "min.insync.replicas"


def with_eligible_replicas() -> Office:
    """Two topics with three replicas, two of which must be in sync and one is."""
    minimum = [ConfigRecord(resource_type=TOPIC, resource_name=name, name=MIN_ISR, value="2") for name in ("t", "u")]
    desk = Office([*(registered(each) for each in (1, 2)), *topic(1, "t", [1, 2]), *topic(2, "u", [1, 2]), *minimum])
    desk.ask(BrokerHeartbeatRequest(broker_id=2, broker_epoch=102, current_metadata_offset=0, want_fence=True, want_shut_down=False))
    assert eligible(desk) == {"t": (2,), "u": (2,)}
    return desk


def eligible(desk: Office) -> dict[str, tuple[int, ...]]:
    return {name: each.partitions[0].eligible_leader_replicas for name, each in desk.image.topics.by_name.items()}


def test_another_min_insync_replicas_clears_the_elr_of_the_topic() -> None:
    desk = with_eligible_replicas()
    changed(desk, TOPIC, "t", (MIN_ISR, SET, "1"))
    assert eligible(desk) == {"t": (), "u": (2,)}


def test_another_min_insync_replicas_for_all_clears_the_elr_of_all_topics() -> None:
    desk = with_eligible_replicas()
    changed(desk, BROKER, "", (MIN_ISR, SET, "3"))
    assert eligible(desk) == {"t": (), "u": ()}


def test_other_settings_leave_the_elr_alone() -> None:
    desk = with_eligible_replicas()
    changed(desk, TOPIC, "t", ("retention.ms", SET, "1"))
    changed(desk, TOPIC, "t", (MIN_ISR, SET, "2"))
    assert eligible(desk) == {"t": (2,), "u": (2,)}


def test_all_brokers_share_one_min_insync_replicas_with_the_elr() -> None:
    assert refusal(BROKER, "1", (MIN_ISR, SET, "2")) is ErrorCode.INVALID_CONFIG
    assert refusal(BROKER, "1", (MIN_ISR, DELETE, None)) is ErrorCode.INVALID_CONFIG
    assert refusal(BROKER, "", (MIN_ISR, DELETE, None)) is ErrorCode.INVALID_CONFIG
    desk = office()
    changed(desk, BROKER, "", (MIN_ISR, SET, "2"))
    assert replace_all(desk, BROKER, "", {}) == ErrorCode.INVALID_CONFIG


def test_a_broker_may_have_its_own_min_insync_replicas_without_the_elr() -> None:
    desk = office()
    desk.ask(
        UpdateFeaturesRequest(
            feature_updates=[FeatureUpdateKey(feature="eligible.leader.replicas.version", max_version_level=0, upgrade_type=2)]
        )
    )
    assert changed(desk, BROKER, "1", (MIN_ISR, SET, "2")) == {MIN_ISR: "2"}
