"""The groups of all brokers, as ListGroups reports them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from barnabas.cli.cluster.broker_requests import Broker, Brokers, refuse_error
from barnabas.cli.groups.description import GroupKind
from barnabas.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse


@dataclass(frozen=True, slots=True)
class ListedGroup:
    group_id: str
    protocol_type: str
    kind: str
    state: str
    coordinator: Broker


def listed_groups(brokers: Brokers, *, states: Sequence[StrEnum] = (), kinds: Sequence[GroupKind] = ()) -> list[ListedGroup]:
    """Sorted by their ids. Without states or kinds, groups of all states or kinds."""
    request = ListGroupsRequest(states_filter=[each.value for each in states], types_filter=[each.value for each in kinds])
    found = []
    for broker in brokers.all():
        response: ListGroupsResponse = brokers.ask(broker, request, codes=lambda response: [response.error_code])
        refuse_error(response.error_code, None, f"Cannot list the groups of broker {broker.node_id}")
        found += [
            ListedGroup(each.group_id, each.protocol_type, _kind_name(each.group_type), each.group_state, broker)
            for each in response.groups
        ]
    return sorted(found, key=lambda group: group.group_id)


def _kind_name(given: str) -> str:
    """Brokers that know only one type of group do not name it; a type that is unknown here keeps
    the broker's name for it."""
    return given.capitalize() or GroupKind.CLASSIC.value
