"""What handlers work with: the parts of a node, given to them as one object. They hold no state of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from barnabas.api.internal_topics import InternalTopics
from barnabas.api.request_context import RequestContext
from barnabas.api.transaction_verification import QuestionsToCoordinators
from barnabas.config.settings import BrokerSettings
from barnabas.coordinators.coordinator import Coordinator
from barnabas.coordinators.group.machine import GroupMachine
from barnabas.coordinators.transaction.machine import TransactionMachine
from barnabas.env.clock import Clock
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NodeId, Uuid
from barnabas.model.promise import Promise
from barnabas.network.peers import Peers
from barnabas.replication.fetch_sessions import FetchSessions
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.partition import Partition
from barnabas.replication.reads import PartitionRead
from barnabas.storage.finding_by_time import TimestampOffset
from barnabas.storage.log_directory import LogDirectory
from barnabas.telemetry.logs import Log
from barnabas.telemetry.metrics import Metrics


class MetadataView(Protocol):
    """The newest image this node has applied."""

    @property
    def image(self) -> MetadataImage: ...

    @property
    def effective(self) -> EffectiveConfigs: ...


class ControllerPort(Protocol):
    """The way to the active controller, wherever it is."""

    def submit(self, request: Any, context: RequestContext | None = None) -> Promise[Any]:
        """The controller's response, once what it decided is committed; ``context`` is that of the client in whose name it is asked.

        Always a response of the request's own API: one that says why, where no controller could be asked."""


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """How far a replica of the metadata log has come; times are on the wall, -1 where there is none."""

    replica_id: int
    directory_id: Uuid
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int


@dataclass(frozen=True, slots=True)
class QuorumStatus:
    """As the leader sees it; another node knows the leader and the voters, and nothing of their progress."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
    leading: bool = True
    # Listener name, host and port of each voter.
    nodes: Mapping[int, Sequence[tuple[str, str, int]]] = field(default_factory=dict)


class QuorumPort(Protocol):
    @property
    def kraft_version(self) -> int:
        """The level of the quorum's own feature: from 1 on voters may change."""

    def status(self) -> QuorumStatus: ...

    def serve(self, request: Any, version: int) -> Promise[Any]:
        """The answer to one of the quorum's own requests: votes, epochs, fetches of the metadata log and its snapshots, voters."""


class ProducerIdPort(Protocol):
    def next_producer_id(self) -> Promise[int]:
        """An id nobody has had; -1 when the controller could not give any."""


class RemoteLogPort(Protocol):
    """What lies below the local start of tiered partitions."""

    def read(
        self, partition: Partition, offset: int, *, size_bytes_max: int, at_least_one: bool, committed: bool
    ) -> Promise[PartitionRead]:
        """Batches from remote storage, with the aborted transactions among them when only ``committed`` ones are wanted."""

    def offset_for_timestamp(self, partition: Partition, timestamp: int) -> Promise[TimestampOffset | ErrorCode | None]:
        """The first record of the whole log that is not older; None when there is none."""


class DirectoryMovesPort(Protocol):
    def move(self, partition: Partition, target: LogDirectory) -> ErrorCode:
        """Begin to move a replica to another directory of this broker, or end its move where it lies there already."""


@dataclass(slots=True)
class Broker:
    node_id: NodeId
    cluster_id: str
    settings: BrokerSettings
    clock: Clock
    loop: asyncio.AbstractEventLoop
    metadata: MetadataView
    replicas: LocalReplicas
    controller: ControllerPort
    quorum: QuorumPort
    producer_ids: ProducerIdPort
    fetch_sessions: FetchSessions
    groups: Coordinator[GroupMachine]
    transactions: Coordinator[TransactionMachine]
    metrics: Metrics
    log: Log
    peers: Peers
    internal_topics: InternalTopics = field(default_factory=InternalTopics)
    # None without tiered storage.
    remote_log: RemoteLogPort | None = None
    # None where there are no replicas to be moved.
    directory_moves: DirectoryMovesPort | None = None
    questions_to_coordinators: QuestionsToCoordinators = field(default_factory=QuestionsToCoordinators)
