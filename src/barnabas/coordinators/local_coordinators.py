"""The coordinators of a node: groups over ``__consumer_offsets``, transactions over
``__transaction_state``, delivery states of share partitions over ``__share_group_state``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.config.settings import BrokerSettings
from barnabas.controller.internal_topics import InternalTopics
from barnabas.coordinators.deleted_topics import OffsetsOfDeletedTopics, ShareStatesOfDeletedTopics
from barnabas.coordinators.driver import CoordinatorDriver, partition_count_of
from barnabas.coordinators.group.record_types import GROUP_RECORD_TYPES
from barnabas.coordinators.group.share.effects import InitializeStates
from barnabas.coordinators.marker_writer import MarkerWriter
from barnabas.coordinators.markers import LocalMarkers
from barnabas.coordinators.settings import group_settings, share_settings, transaction_settings
from barnabas.coordinators.share.record_types import SHARE_RECORD_TYPES
from barnabas.coordinators.share_group_states import ShareGroupStates
from barnabas.coordinators.share_persister import CoordinatedPersister
from barnabas.coordinators.share_pruning import SharePruning
from barnabas.coordinators.transaction.effects import WriteMarkers
from barnabas.coordinators.transaction.record_types import TRANSACTION_RECORD_TYPES
from barnabas.env.clock import Clock
from barnabas.env.entropy import Entropy
from barnabas.metadata.applier import MetadataApplier, Publisher
from barnabas.metadata.configs import ResourceType
from barnabas.metadata.features import TRANSACTION_VERSION
from barnabas.model.topic_names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from barnabas.records.compression import Codec
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.other_brokers import OtherBrokers
from barnabas.telemetry.logs import EventLog

if TYPE_CHECKING:
    from barnabas.coordinators.group.machine import GroupMachine
    from barnabas.coordinators.share.machine import ShareMachine
    from barnabas.coordinators.transaction.machine import TransactionMachine


class LocalCoordinators:
    def __init__(
        self,
        settings: BrokerSettings,
        node_id: int,
        replicas: LocalReplicas,
        applier: MetadataApplier,
        clock: Clock,
        entropy: Entropy,
        log: EventLog,
        others: OtherBrokers,
        internal_topics: InternalTopics,
    ) -> None:
        # Shards are loaded while an image is being published: they must see that image, not the
        # previous one.
        newest = applier.newest
        for_groups, for_transactions = group_settings(settings), transaction_settings(settings)

        # A machine is loaded with the first shard that this node leads. Until then no request
        # needs it, and a new cluster starts in less time.

        def make_groups(partition: int) -> GroupMachine:
            from barnabas.coordinators.group.machine import GroupMachine
            from barnabas.coordinators.group.shard import GroupShard

            return GroupMachine(
                GroupShard(
                    partition,
                    for_groups,
                    entropy,
                    image=lambda: newest.image,
                    settings_of=lambda group: newest.image.configs.of(ResourceType.GROUP, group),
                )
            )

        def make_transactions(partition: int) -> TransactionMachine:
            from barnabas.coordinators.transaction.machine import TransactionMachine

            return TransactionMachine(
                partition,
                for_transactions,
                lambda: self.transactions.runtime.epoch_of(partition),
                transaction_version=lambda: newest.image.features.level(TRANSACTION_VERSION),
            )

        self.groups: CoordinatorDriver[GroupMachine] = CoordinatorDriver(
            CONSUMER_OFFSETS,
            make_groups,
            GROUP_RECORD_TYPES,
            node_id=node_id,
            replicas=replicas,
            clock=clock,
            log=log,
            on_effect=self._initialize_share_states,
            codec=Codec(settings.integer("offsets.topic.compression.codec")),
            base_sequence=0,
            commit_ms_max=settings.integer("offsets.commit.timeout.ms"),
            partition_count=partition_count_of(CONSUMER_OFFSETS, lambda: applier.image),
        )
        self.transactions: CoordinatorDriver[TransactionMachine] = CoordinatorDriver(
            TRANSACTION_STATE,
            make_transactions,
            TRANSACTION_RECORD_TYPES,
            node_id=node_id,
            replicas=replicas,
            clock=clock,
            log=log,
            on_effect=self._end_transaction,
            commit_ms_max=settings.integer("request.timeout.ms"),
            partition_count=partition_count_of(TRANSACTION_STATE, lambda: applier.image),
        )
        for_shares = share_settings(settings)

        def make_share_states(partition: int) -> ShareMachine:
            from barnabas.coordinators.share.machine import ShareMachine

            return ShareMachine(partition, for_shares, lambda: newest.image)

        self.share_states: CoordinatorDriver[ShareMachine] = CoordinatorDriver(
            SHARE_GROUP_STATE,
            make_share_states,
            SHARE_RECORD_TYPES,
            node_id=node_id,
            replicas=replicas,
            clock=clock,
            log=log,
            on_effect=SharePruning(replicas, log).perform,
            codec=Codec(settings.integer("share.coordinator.state.topic.compression.codec")),
            base_sequence=0,
            commit_ms_max=settings.integer("share.coordinator.write.timeout.ms"),
            partition_count=partition_count_of(SHARE_GROUP_STATE, lambda: applier.image),
        )
        self.share_persister = CoordinatedPersister(
            node_id, self.share_states.coordinator, others, internal_topics, asyncio.get_running_loop()
        )
        self.share_group_states = ShareGroupStates(self.groups.coordinator, self.share_persister)
        self.markers = LocalMarkers(replicas, applier, self.groups.coordinator, clock)
        self._marker_writer = MarkerWriter(
            node_id, self.transactions.coordinator, self.markers, others, lambda: newest.image, asyncio.get_running_loop()
        )

    def _initialize_share_states(self, shard: int, effect: InitializeStates) -> None:
        self.share_group_states.perform(shard, effect)

    def _end_transaction(self, shard: int, effect: WriteMarkers) -> None:
        self._marker_writer.perform(shard, effect)

    @property
    def publishers(self) -> Sequence[Publisher]:
        return (
            self.groups,
            self.transactions,
            self.share_states,
            OffsetsOfDeletedTopics(self.groups.coordinator),
            ShareStatesOfDeletedTopics(self.share_states.coordinator),
        )

    def stop(self) -> None:
        self._marker_writer.stop()
        self.share_persister.stop()
        self.groups.stop()
        self.transactions.stop()
        self.share_states.stop()
