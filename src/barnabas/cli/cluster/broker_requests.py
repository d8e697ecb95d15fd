"""Requests to the broker whose business they are: a coordinator, a partition's leader, the controller, or each of them in turn.

For what librdkafka cannot ask, or answers only in part: it lists the groups of consumers and no others, and knows nothing of transactions
that are not its own, of the quorum or of reassignments. A coordinator that is moving or still loads its log says so, as does a
controller that has just lost its office, and is asked again until :data:`~barnabas.cli.cluster.client.ANSWER_SECONDS_MAX` have passed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from barnabas.cli.cluster.admin_request import ask, error_words
from barnabas.cli.cluster.client import ANSWER_SECONDS_MAX, Cluster
from barnabas.cli.errors import Refused
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

# A coordinator's log is usually loaded before anybody can type a command; this is how soon the next look is worth a connection.
_RETRY_SECONDS = 0.1
_NOT_NOW = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)


# From a broker: it does not know the active controller at the moment. From a controller, which may be asked too: another one is active.
_NOT_THE_CONTROLLER = frozenset({ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.LEADER_NOT_AVAILABLE})


class CoordinatorOf(IntEnum):
    """What FindCoordinator is asked for."""

    GROUP = 0
    TRANSACTION = 1


class Broker(NamedTuple):
    node_id: int
    address: str


@dataclass(frozen=True, slots=True)
class Brokers:
    cluster: Cluster

    def all(self) -> list[Broker]:
        request = DescribeClusterRequest(include_cluster_authorized_operations=False)
        response: DescribeClusterResponse = self._ask(self.cluster.reachable, request)
        refuse_error(response.error_code, response.error_message, "Cannot ask for the cluster's brokers")
        return sorted(Broker(each.broker_id, f"{each.host}:{each.port}") for each in response.brokers)

    def ask(self, broker: Broker, request: Any, *, codes: Callable[[Any], Iterable[int]] | None = None) -> Any:
        """``codes`` finds the errors in a response; while one of them says "not now", the broker is asked again."""
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while True:
            response = self._ask(broker.address, request)
            if codes is None or _NOT_NOW.isdisjoint(codes(response)) or time.monotonic() > deadline:
                return response
            time.sleep(_RETRY_SECONDS)

    def ask_controller(
        self,
        request: Any,
        *,
        codes: Callable[[Any], Iterable[int]],
        not_now: frozenset[ErrorCode] = frozenset(),
        seconds_max: float = ANSWER_SECONDS_MAX,
    ) -> Any:
        """Any broker forwards to the active controller. Controllers do not, so that where the bootstrap addresses are theirs, each is
        asked until one of them is it. ``not_now`` are more errors after which it is worth to ask again."""
        deadline = time.monotonic() + seconds_max
        while True:
            silent: Refused | None = None
            response = None
            for address in self.cluster.addresses:
                try:
                    response = ask(address, self.cluster.properties, request, seconds_max=seconds_max)
                except Refused as refused:
                    silent = refused
                    continue
                if (_NOT_THE_CONTROLLER | not_now).isdisjoint(codes(response)):
                    return response
            if response is None:
                assert silent is not None
                raise silent
            if time.monotonic() > deadline:
                return response
            time.sleep(_RETRY_SECONDS)

    def ask_coordinator(
        self, of: CoordinatorOf, key: str, request: Any, *, codes: Callable[[Any], Iterable[int]], version_max: int | None = None
    ) -> Any:
        """Like :meth:`ask`, but whom to ask is looked up again each time, since a coordinator may move."""
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while True:
            response = self._ask(self.coordinator(of, key).address, request, version_max)
            if _NOT_NOW.isdisjoint(codes(response)) or time.monotonic() > deadline:
                return response
            time.sleep(_RETRY_SECONDS)

    def coordinator(self, of: CoordinatorOf, key: str) -> Broker:
        request = FindCoordinatorRequest(key_type=of, coordinator_keys=[key])
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while True:
            response: FindCoordinatorResponse = self._ask(self.cluster.reachable, request)
            (found,) = response.coordinators
            if found.error_code not in _NOT_NOW or time.monotonic() > deadline:
                break
            # The first question makes the internal topic, and this one comes before it has leaders.
            time.sleep(_RETRY_SECONDS)
        refuse_error(found.error_code, found.error_message, f"Cannot find the coordinator of {key}")
        return Broker(found.node_id, f"{found.host}:{found.port}")

    def _ask(self, address: str, request: Any, version_max: int | None = None) -> Any:
        return ask(address, self.cluster.properties, request, seconds_max=ANSWER_SECONDS_MAX, version_max=version_max)


def refuse_error(code: int, message: str | None, doing: str) -> None:
    """``Refused`` with "``doing``: why", unless there is no error."""
    if code != ErrorCode.NONE:
        text = " ".join((message or error_words(code)).split()).rstrip(".!")
        raise Refused(f"{doing}: {text}.")
