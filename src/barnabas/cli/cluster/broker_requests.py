"""Requests to the one broker that can answer them: a coordinator, a partition's leader, the
controller, or each of these in turn.

For requests that librdkafka does not support, or answers only in part: it lists consumer groups and
no others, and it has no requests for transactions of other producers, the quorum or reassignments.
A coordinator that is moving or still loading its log returns a retriable error, and so does a
controller that has just lost its leadership. Such a request is sent again until
:data:`~barnabas.cli.cluster.reach.ANSWER_SECONDS_MAX` have passed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from barnabas.cli.cluster.admin_request import ask, error_words
from barnabas.cli.cluster.reach import ANSWER_SECONDS_MAX, Cluster
from barnabas.cli.errors import Refused
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

# Coordinators usually finish loading before a user can type a command, so a short pause between
# attempts is enough.
_RETRY_SECONDS = 0.1
_NOT_NOW = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)


# A broker returns these while it does not know the active controller. A controller, which may also
# be asked, returns them while another one is active.
_NOT_THE_CONTROLLER = frozenset({ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.LEADER_NOT_AVAILABLE})


class CoordinatorOf(IntEnum):
    """The kind of coordinator that FindCoordinator looks for."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


class Broker(NamedTuple):
    node_id: int
    address: str


@dataclass(frozen=True, slots=True)
class Brokers:
    cluster: Cluster

    def all(self) -> list[Broker]:
        request = DescribeClusterRequest(include_cluster_authorized_operations=False)
        response: DescribeClusterResponse = self._ask(self.cluster.reachable, request)
        refuse_error(response.error_code, response.error_message, "Cannot list the cluster's brokers")
        return sorted(Broker(each.broker_id, f"{each.host}:{each.port}") for each in response.brokers)

    def ask(
        self, broker: Broker, request: Any, *, codes: Callable[[Any], Iterable[int]] | None = None, version_max: int | None = None
    ) -> Any:
        """``codes`` finds the errors in a response; while one of them is retriable, the request is
        sent again."""
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while True:
            response = self._ask(broker.address, request, version_max)
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
        """Any broker forwards to the active controller. Controllers do not forward, so when the
        bootstrap addresses are controllers, each is asked until the active one answers. ``not_now``
        names further errors that are worth a retry."""
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
        """Like :meth:`ask`, but the coordinator is looked up before each attempt, since it may
        move."""
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
            # The first FindCoordinator creates the internal topic, and this one arrives before the
            # topic has leaders.
            time.sleep(_RETRY_SECONDS)
        refuse_error(found.error_code, found.error_message, f"Cannot find the coordinator of {key}")
        return Broker(found.node_id, f"{found.host}:{found.port}")

    def _ask(self, address: str, request: Any, version_max: int | None = None) -> Any:
        return ask(address, self.cluster.properties, request, seconds_max=ANSWER_SECONDS_MAX, version_max=version_max)


def refuse_error(code: int, message: str | None, doing: str) -> None:
    """Raise ``Refused`` with "``doing``: reason", unless ``code`` is no error."""
    if code != ErrorCode.NONE:
        text = " ".join((message or error_words(code)).split()).rstrip(".!")
        raise Refused(f"{doing}: {text}.")
