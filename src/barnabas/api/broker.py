"""The parts of a node that handlers call, in one object. Handlers hold no state of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

from barnabas.api.described_topics import DescribedTopics
from barnabas.api.produce.verification import QuestionsToCoordinators
from barnabas.api.sliced_answers import SlicedAnswers
from barnabas.api.topic_names import TopicNames
from barnabas.model.dataclass import dataclass
from barnabas.security.quotas.client_quotas import ClientQuotas

if TYPE_CHECKING:
    import asyncio

    from barnabas.api.access import Access
    from barnabas.client_metrics.client_metrics import ClientMetrics
    from barnabas.config.settings import BrokerSettings
    from barnabas.controller.internal_topics import InternalTopics
    from barnabas.controller.port import ControllerPort
    from barnabas.controller.producer_id_blocks import ProducerIdBlocks
    from barnabas.controller.streams_topics import StreamsTopics
    from barnabas.coordinators.coordinator import Coordinator
    from barnabas.coordinators.group.machine import GroupMachine
    from barnabas.coordinators.markers import LocalMarkers
    from barnabas.coordinators.share.machine import ShareMachine
    from barnabas.coordinators.share.persister import SharePersister
    from barnabas.coordinators.share_group_states import ShareGroupStates
    from barnabas.coordinators.transaction.machine import TransactionMachine
    from barnabas.env.clock import Clock
    from barnabas.logcare.directories.moves import DirectoryMoves
    from barnabas.metadata.applier import MetadataApplier
    from barnabas.metadata.effective_configs import EffectiveConfigs
    from barnabas.model.ids import NodeId
    from barnabas.quorum.driver import QuorumDriver
    from barnabas.replication.doubted_brokers import DoubtedBrokers
    from barnabas.replication.fetch_sessions import FetchSessions
    from barnabas.replication.local_replicas import LocalReplicas
    from barnabas.replication.other_brokers import OtherBrokers
    from barnabas.schema_validation.validation import SchemaValidation
    from barnabas.sharing.local_share_partitions import LocalSharePartitions
    from barnabas.telemetry.logs import EventLog
    from barnabas.telemetry.metrics import Metrics
    from barnabas.tiered.remote_log import RemoteLog


@dataclass(slots=True)
class Broker:
    node_id: NodeId
    cluster_id: str
    settings: BrokerSettings
    clock: Clock
    loop: asyncio.AbstractEventLoop
    metadata: MetadataApplier
    replicas: LocalReplicas
    controller: ControllerPort
    quorum: QuorumDriver
    producer_ids: ProducerIdBlocks
    fetch_sessions: FetchSessions
    groups: Coordinator[GroupMachine]
    transactions: Coordinator[TransactionMachine]
    share_states: Coordinator[ShareMachine]
    share_persister: SharePersister
    share_group_states: ShareGroupStates
    markers: LocalMarkers
    metrics: Metrics
    log: EventLog
    access: Access
    others: OtherBrokers
    doubted_brokers: DoubtedBrokers
    internal_topics: InternalTopics
    streams_topics: StreamsTopics
    directory_moves: DirectoryMoves
    client_metrics: ClientMetrics
    shares: LocalSharePartitions
    client_quotas: ClientQuotas = field(default_factory=ClientQuotas)
    # None without a schema registry, or a sentence that says why there is none.
    schema_validation: SchemaValidation | str | None = None
    # None without tiered storage.
    remote_log: RemoteLog | None = None
    # A sentence if this node could not use changed settings of its listeners.
    why_listeners_unusable: Callable[[EffectiveConfigs], str | None] = lambda _: None
    sliced_answers: SlicedAnswers = field(default_factory=SlicedAnswers)
    described_topics: DescribedTopics = field(default_factory=DescribedTopics)
    topic_names: TopicNames = field(default_factory=TopicNames)
    questions_to_coordinators: QuestionsToCoordinators = field(default_factory=QuestionsToCoordinators)
