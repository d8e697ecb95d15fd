"""Settings changed while the node runs take effect with the answer, without a restart, and the more
specific one wins.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest
from tests.scenarios.client import Client, batch_of, records_in

TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8
SET, DELETE = 0, 1
LARGE = batch_of([b"x" * 5000])
TOO_LARGE = ErrorCode.MESSAGE_TOO_LARGE


def alter(client: Client, kind: int, name: str, key: str, value: str | None, operation: int = SET) -> Any:
    resource = AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=[AlterableConfig(name=key, config_operation=operation, value=value)]
    )
    return client.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)).responses[0]


def described(client: Client, kind: int, name: str, key: str) -> Any:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=[key])
    return client.ask(DescribeConfigsRequest(resources=[resource], include_synonyms=True)).results[0].configs[0]


def test_a_topics_own_setting_takes_effect_at_once_and_so_does_its_removal(client: Client) -> None:
    client.create_topic("t", 2)
    assert client.produce_batch("t", 0, LARGE).error_code == 0
    client.alter_configs(TOPIC, "t", {"max.message.bytes": "1000"})
    assert [client.produce_batch("t", partition, LARGE).error_code for partition in range(2)] == [TOO_LARGE] * 2
    assert alter(client, TOPIC, "t", "max.message.bytes", None, DELETE).error_code == 0
    assert client.produce_batch("t", 0, LARGE).error_code == 0


def test_topic_beats_broker_beats_cluster_beats_file() -> None:
    with EmbeddedBroker(config={"message.max.bytes": "900"}) as kafka, Client(kafka.bootstrap) as client:
        client.create_topic("t")
        fits = {size: batch_of([b"x" * size]) for size in (800, 1800, 2800, 3800)}

        def largest() -> int:
            return max(size for size, batch in fits.items() if client.produce_batch("t", 0, batch).error_code == 0)

        assert largest() == 800
        client.alter_configs(BROKER, "", {"message.max.bytes": "1900"})
        assert largest() == 1800
        client.alter_configs(BROKER, "1", {"message.max.bytes": "2900"})
        assert largest() == 2800
        client.alter_configs(TOPIC, "t", {"max.message.bytes": "3900"})
        assert largest() == 3800
        sources = [(each.name, each.value, each.source) for each in described(client, TOPIC, "t", "max.message.bytes").synonyms]
        assert sources[:4] == [
            ("max.message.bytes", "3900", 1),
            ("message.max.bytes", "2900", 2),
            ("message.max.bytes", "1900", 3),
            ("message.max.bytes", "900", 4),
        ]
        alter(client, TOPIC, "t", "max.message.bytes", None, DELETE)
        assert largest() == 2800
        alter(client, BROKER, "1", "message.max.bytes", None, DELETE)
        assert largest() == 1800
        alter(client, BROKER, "", "message.max.bytes", None, DELETE)
        assert largest() == 800


def test_dynamic_settings_survive_a_restart(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t")
    client.alter_configs(BROKER, "", {"message.max.bytes": "1000"})
    kafka.stop()
    kafka.start()
    with Client(kafka.bootstrap) as again:
        assert again.produce_batch("t", 0, LARGE).error_code == TOO_LARGE
        assert described(again, BROKER, "1", "message.max.bytes").config_source == 3


def test_segments_roll_by_their_new_size(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t")
    client.produce("t", [bytes(900_000)])
    client.alter_configs(TOPIC, "t", {"segment.bytes": "1048576"})
    client.produce("t", [bytes(900_000)])
    assert len(list(Path(kafka.data_dir, "t-0").glob("*.log"))) == 2


def test_the_broker_stamps_records_after_a_switch_to_log_append_time(client: Client) -> None:
    client.create_topic("t")
    client.produce("t", [b"producer's time"])
    client.alter_configs(TOPIC, "t", {"message.timestamp.type": "LogAppendTime"})
    answer = client.produce_batch("t", 0, batch_of([b"broker's time"]))
    assert answer.log_append_time_ms > 0
    # Years apart, so they lie in two segments, and an answer holds records of one.
    (first,), (second,) = (records_in(client.fetch("t", offset=offset).records) for offset in (0, 1))
    assert first.timestamp != second.timestamp == answer.log_append_time_ms


def test_another_codec_is_used_from_the_next_batch_on(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t")
    client.alter_configs(TOPIC, "t", {"compression.type": "zstd"})
    client.produce("t", [bytes(100_000)])
    assert len(client.fetch("t").records) < 5000
    assert client.values("t") == [bytes(100_000)]


@pytest.mark.parametrize(
    ("kind", "name", "key", "value", "error"),
    [
        (TOPIC, "t", "max.message.bytes", "many", ErrorCode.INVALID_CONFIG),
        (TOPIC, "t", "no.such.setting", "1", ErrorCode.INVALID_CONFIG),
        (TOPIC, "missing", "max.message.bytes", "1", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (BROKER, "1", "node.id", "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "9", "message.max.bytes", "1", ErrorCode.INVALID_REQUEST),
        (BROKER, "one", "message.max.bytes", "1", ErrorCode.INVALID_REQUEST),
        (99, "t", "max.message.bytes", "1", ErrorCode.INVALID_REQUEST),
        (BROKER_LOGGER, "1", "root", "LOUD", ErrorCode.INVALID_CONFIG),
        (BROKER_LOGGER, "1", "other", "INFO", ErrorCode.INVALID_CONFIG),
        (BROKER_LOGGER, "2", "root", "INFO", ErrorCode.INVALID_REQUEST),
    ],
)
def test_an_invalid_setting_is_refused_with_a_sentence(
    client: Client, kind: int, name: str, key: str, value: str, error: ErrorCode
) -> None:
    client.create_topic("t")
    refused = alter(client, kind, name, key, value)
    assert refused.error_code == error
    assert refused.error_message


def test_the_level_of_the_log_can_be_read_and_changed(client: Client) -> None:
    assert alter(client, BROKER_LOGGER, "1", "root", "ERROR").error_code == 0
    assert described(client, BROKER_LOGGER, "1", "root").value == "ERROR"
    assert alter(client, BROKER_LOGGER, "1", "root", "FATAL").error_code == 0
    assert described(client, BROKER_LOGGER, "1", "root").value == "FATAL"
