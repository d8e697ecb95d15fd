"""Requests that show and change settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages import incremental_alter_configs as incremental
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tests.conformance.differential.pair import Pair, Peer
from tests.waiting import until

UNKNOWN, TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 0, 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
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


def set_group(pair: Pair, group: str, *changes: Change) -> None:
    """Settings of a group on both sides, or the same refusal. Kafka answers before its broker has
    them, and a member that joins in between would join a group without them."""
    ((kafka, _),) = pair.same(altering((GROUP, group, list(changes))), [1])
    if kafka.responses[0].error_code != ErrorCode.NONE:
        return
    wanted = {name: value for name, _, value in changes}
    for peer in pair.peers:

        def shown(peer: Peer = peer) -> dict[str, str | None]:
            (described,) = pair.ask(peer, describing((GROUP, group), keys=list(wanted)), 1).results
            return {each.name: each.value for each in described.configs}

        until(lambda shown=shown: shown() == wanted, f"{peer.name} shows the settings", seen=shown, pause_seconds=0.002)  # type: ignore[misc]


@contextmanager
def altered(pair: Pair, kind: int, name: str, *changes: Change) -> Iterator[None]:
    """A change on both sides, undone at the end."""
    pair.same(altering((kind, name, list(changes))), [1])
    pair.soon_same(describing((kind, name)), [1])
    try:
        yield
    finally:
        pair.same(altering((kind, name, [(key, DELETE, None) for key, _, _ in changes])), [1])
        pair.soon_same(describing((kind, name)), [1])
