"""Settings that a client may change while a broker runs: with every accepted value the broker
continues and restarts.

A value that halts a node would be worse than a crash: it is in the metadata log, and the node would
halt again at every start.
"""

from __future__ import annotations

import pytest

from barnabas.config.broker_keys import BROKER_KEYS, DYNAMIC_ONLY_KEYS
from barnabas.config.keys import Scope
from barnabas.config.topic_keys import TOPIC_KEYS
from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest
from tests.scenarios.client import Client

TOPIC, BROKER = 2, 4
TEXTS = (
    "",
    "junk",
    "0",
    "1",
    "-1",
    "2147483647",
    "9223372036854775807",
    "127.0.0.1:x",
    "127.0.0.1:5,bad",
    "::1:7",
    "true",
    "a,b,,c",
    "1" * 5000,
)
# These two work as documented, and would prevent the test from connecting.
LOCK_OUT = {"max.connections", "max.connections.per.ip", "max.connection.creation.rate"}


def changeable(kind: int) -> list[str]:
    if kind == TOPIC:
        return sorted(TOPIC_KEYS)
    keys = {**BROKER_KEYS, **DYNAMIC_ONLY_KEYS}
    return sorted(name for name, key in keys.items() if key.scope is not Scope.READ_ONLY and name not in LOCK_OUT)


def set_all(client: Client, kind: int, resource: str, text: str) -> int:
    """Set every setting to ``text``, each by itself; returns how many were accepted."""
    requests = [
        IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    resource_type=kind, resource_name=resource, configs=[AlterableConfig(name=name, config_operation=0, value=text)]
                )
            ],
            validate_only=False,
        )
        for name in changeable(kind)
    ]
    for request in requests:
        client.send(request)
    return sum(client.receive(request)[1].responses[0].error_code == 0 for request in requests)


@pytest.mark.parametrize(("kind", "resource"), [(TOPIC, "t"), (BROKER, "1"), (BROKER, "")])
def test_a_broker_runs_and_restarts_with_every_accepted_setting(kind: int, resource: str) -> None:
    with EmbeddedBroker(process=True) as kafka:
        with Client(kafka.bootstrap) as client:
            client.create_topic("t")
            accepted = sum(set_all(client, kind, resource, text) for text in TEXTS)
            assert accepted > 50
        for _ in range(2):
            with Client(kafka.bootstrap) as client:
                client.create_topic("made")
                client.delete_topic("made")
                for name, asked in ((TOPIC, "t"), (BROKER, "1"), (BROKER, "")):
                    shown = DescribeConfigsResource(resource_type=name, resource_name=asked, configuration_keys=None)
                    assert client.ask(DescribeConfigsRequest(resources=[shown], include_synonyms=True)).results[0].error_code == 0
                assert client.fetch("t").error_code == 0
            assert kafka.complaints == ""
            kafka.stop()
            kafka.start()


@pytest.mark.parametrize("text", ["junk", "127.0.0.1:x", "127.0.0.1:5,bad", ":", "host"])
def test_invalid_limits_are_refused(text: str) -> None:
    with EmbeddedBroker() as kafka, Client(kafka.bootstrap) as client:
        change = AlterableConfig(name="max.connections.per.ip.overrides", config_operation=0, value=text)
        request = IncrementalAlterConfigsRequest(
            resources=[AlterConfigsResource(resource_type=BROKER, resource_name="", configs=[change])], validate_only=False
        )
        assert client.ask(request).responses[0].error_code == ErrorCode.INVALID_REQUEST
        client.probe()
