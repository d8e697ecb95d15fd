"""Clients of coordinators: they look up the coordinator, and retry retriable errors.

After the last fault a node answers every request within :data:`ANSWER_MS_MAX`. A node that takes
longer has lost the request, and that is a violation.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.simulation.clients import FETCH_BYTES, REQUEST_MS, RETRIABLE, Client
from barnabas.simulation.host import Host
from barnabas.simulation.violations import Violation
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.types import RecordsSource

if TYPE_CHECKING:
    from barnabas.simulation.groups_world import GroupsWorld

OF_GROUPS, OF_TRANSACTIONS = 0, 1
FETCH_WAIT_MS = 100
# Several times the longest timeout of a node here: JoinGroup waits for the rebalance timeout (3 s),
# other requests for a commit (request.timeout.ms, 5 s).
ANSWER_MS_MAX = 20_000

# The same request may succeed a little later, or at another coordinator.
PASSING = RETRIABLE | {ErrorCode.NOT_COORDINATOR, ErrorCode.CONCURRENT_TRANSACTIONS}
# A follower serves a client that takes it for the leader (KIP-392), and its log may be shorter.
FETCH_PASSING = RETRIABLE | {ErrorCode.OFFSET_OUT_OF_RANGE}


def records_of(data: PartitionData | None) -> memoryview:
    """The batches of a response, which came over a network: no file is behind them."""
    records = data.records if data is not None else None
    assert not isinstance(records, RecordsSource)
    return memoryview(records or b"")


class CoordinatorClient(Client):
    world: GroupsWorld

    def __init__(self, world: GroupsWorld, host: Host, chance: Random) -> None:
        super().__init__(world, host, chance)
        self._coordinators: dict[tuple[int, str], int] = {}
        self.lost = 0
        """How many requests had no response. A node may have performed them, or may perform them
        later.
        """

    async def ask(self, node: int, request: Any, *, timeout_ms: int = REQUEST_MS, version_max: int | None = None) -> Any:
        healed = self.world.healed
        answer = await super().ask(node, request, timeout_ms=ANSWER_MS_MAX if healed else timeout_ms, version_max=version_max)
        if healed and answer is ErrorCode.REQUEST_TIMED_OUT:
            raise Violation(f"n{node} does not answer {type(request).__name__} of {self.host.name}, and all faults are over")
        if isinstance(answer, ErrorCode):
            self.lost += 1
        return answer

    async def fetch(self, partition: TopicPartition, offset: int, *, isolation: int = 0) -> PartitionData | None:
        """The records from ``offset`` on; None after a retriable failure."""
        leader, topic_id = await self.leader_of(partition)
        wanted = FetchPartition(partition=partition.partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
        request = FetchRequest(
            max_wait_ms=FETCH_WAIT_MS,
            min_bytes=1,
            max_bytes=FETCH_BYTES,
            isolation_level=isolation,
            topics=[FetchTopic(topic_id=topic_id, partitions=[wanted])],
        )
        answer = await self.ask(leader, request)
        code = answer if isinstance(answer, ErrorCode) else ErrorCode(answer.error_code or answer.responses[0].partitions[0].error_code)
        if not code:
            data: PartitionData = answer.responses[0].partitions[0]
            return data
        if code not in FETCH_PASSING:
            raise Violation(f"{self.host.name} gets {code.name} for a fetch of {partition} from {offset}")
        self._leaders.pop(partition, None)
        await self.pause()
        return None

    async def coordinator_of(self, kind: int, key: str) -> int:
        while (known := self._coordinators.get((kind, key))) is None:
            answer = await self.ask(self.any_node(), FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]))
            if not isinstance(answer, ErrorCode):
                (found,) = answer.coordinators
                if found.error_code == ErrorCode.NONE:
                    self._coordinators[kind, key] = found.node_id
                    continue
                if ErrorCode(found.error_code) not in PASSING:
                    raise Violation(f"{self.host.name} gets {ErrorCode(found.error_code).name} when it looks for a coordinator")
            await self.pause()
        return known

    def forget_coordinator(self, kind: int, key: str) -> None:
        self._coordinators.pop((kind, key), None)

    async def ask_once(self, kind: int, key: str, request: Any, error_of: Callable[[Any], int], **options: Any) -> tuple[ErrorCode, Any]:
        """The error code, and the response if there was one. When a node does not answer, or is not
        the coordinator, the client looks it up again.
        """
        answer = await self.ask(await self.coordinator_of(kind, key), request, **options)
        code = answer if isinstance(answer, ErrorCode) else ErrorCode(error_of(answer))
        if code in PASSING and code is not ErrorCode.CONCURRENT_TRANSACTIONS:
            self.forget_coordinator(kind, key)
        return code, answer

    async def ask_until_settled(
        self, kind: int, key: str, request: Any, error_of: Callable[[Any], int], **options: Any
    ) -> tuple[ErrorCode, Any]:
        """The first response that a retry would not change."""
        while True:
            code, answer = await self.ask_once(kind, key, request, error_of, **options)
            if code not in PASSING:
                return code, answer
            await self.pause()
