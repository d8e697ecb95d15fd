"""The parts of a node's role as a broker, made in order and wired to each other.

Every node makes them, since the handlers of a controller get the same
:class:`~barnabas.api.broker.Broker`; only a node with the broker role starts them. Two places list
the calls upwards: :class:`~barnabas.node.replica_events.ReplicaEvents` those of replicas, and
:attr:`BrokerRole.publishers` those of metadata.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from barnabas.api.broker import Broker
from barnabas.config.listeners import inter_broker_listener_name
from barnabas.controller.broker_lifecycle import BrokerLifecycle
from barnabas.controller.channel import ControllerChannel
from barnabas.controller.internal_topics import InternalTopics
from barnabas.controller.producer_id_blocks import ProducerIdBlocks
from barnabas.controller.streams_topics import StreamsTopics
from barnabas.coordinators.local_coordinators import LocalCoordinators
from barnabas.env.awaiting import awaited
from barnabas.env.entropy import random_uuid
from barnabas.logcare.directories.cordoned import CordonedDirectories
from barnabas.logcare.directories.failures import DirectoryFailures
from barnabas.logcare.directories.moves import DirectoryMoves
from barnabas.logcare.directories.node_directories import NodeDirectories
from barnabas.logcare.directories.reports import DirectoryReports
from barnabas.logcare.log_care import LogCare
from barnabas.logcare.log_settings import LogSettingsPublisher
from barnabas.metadata.applier import MetadataApplier, Publisher
from barnabas.model.ids import Uuid
from barnabas.network.peers import Peers
from barnabas.node.acl_publisher import access_of
from barnabas.node.addresses import OwnAddresses
from barnabas.node.client_metrics import ClientMetricsPublisher, make_client_metrics
from barnabas.node.replica_events import ReplicaEvents
from barnabas.node.schema_validation import NodeSchemaValidation
from barnabas.node_context import NodeContext
from barnabas.quorum.driver import QuorumDriver
from barnabas.replication.acknowledgement_watch import AcknowledgementWatch
from barnabas.replication.cluster_view import ClusterView, IsrCounters
from barnabas.replication.doubted_brokers import DoubtedBrokers
from barnabas.replication.fetch_sessions import FetchSessions
from barnabas.replication.fetchers import ReplicaFetchers
from barnabas.replication.isr_reports import IsrReports
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.other_brokers import OtherBrokers
from barnabas.replication.publisher import ReplicaPublisher
from barnabas.security.quotas.client_quotas import ClientQuotas
from barnabas.sharing.dead_letters.dead_letter_writer import DeadLetterWriter
from barnabas.sharing.dead_letters.destination import DeadLetterTopics
from barnabas.sharing.local_share_partition import SharingPorts
from barnabas.sharing.local_share_partitions import LocalSharePartitions
from barnabas.storage.found_logs import FoundLogs
from barnabas.storage.log_directory import LogDirectory

if TYPE_CHECKING:
    from barnabas.tiered.remote_log import RemoteLog

# The wait of a controlled shutdown for the controller to move this broker's leaderships.
LEAVE_SECONDS_MAX = 15.0
# The part of this wait during which there may be no controller at all.
LEADERLESS_SECONDS_MAX = 2.0
LEADER_CHECK_SECONDS = 0.25


class BrokerRole:
    def __init__(
        self,
        context: NodeContext,
        directories: NodeDirectories,
        found: FoundLogs,
        applier: MetadataApplier,
        channel: ControllerChannel,
        quorum: QuorumDriver,
        peers: Peers,
        addresses: OwnAddresses,
        quotas: ClientQuotas,
        *,
        previous_epoch: int,
    ) -> None:
        """``found`` are the logs on disk; ``previous_epoch`` is the broker epoch before a clean
        shutdown.

        Parts are made from the disk upwards. A part that needs one made later calls a method of
        this class, named below.
        """
        settings = context.settings
        self._context = context
        self._directories = directories
        self._applier = applier
        self._quorum = quorum
        replicas = self.replicas = LocalReplicas(directories.for_replicas, self._directory_failed, unopened=directories.unopened)
        # The directories, and their reports to the controller.
        self._cordoned = CordonedDirectories(directories.for_replicas, self._heartbeat_soon)
        self.lifecycle = self._make_lifecycle(channel, addresses, previous_epoch)
        self._directory_failures = DirectoryFailures(context, directories, self.lifecycle, self._leads_in)
        replicas.on_full = self._directory_failures.full
        self._directory_reports = DirectoryReports(channel, context.node_id, self._broker_epoch)
        # The logs, which need no role.
        self._care = LogCare(context, replicas, applier)
        self._care.watch(directories)
        self._moves = self._make_moves()
        # The roles of replicas: leaders report the ISR, followers fetch.
        self._isr_reports = self._make_isr_reports(channel)
        self._acknowledgement_watch = AcknowledgementWatch(replicas, context.clock, context.log)
        others = OtherBrokers(applier, peers, settings)
        self.doubted_brokers = DoubtedBrokers(applier, peers, settings)
        internal_topics = InternalTopics(channel, settings, context.log)
        self._remote_log = self._make_remote_log(others, internal_topics)
        self._fetchers = self._make_fetchers(peers)
        self._publisher = ReplicaPublisher(
            context,
            replicas,
            found,
            self._care.removals,
            self._cluster_view(),
            ReplicaEvents(self._care, self._directory_reports, self._moves, self._fetchers),
        )
        coordinators = self._coordinators = LocalCoordinators(
            settings, context.node_id, replicas, applier, context.clock, context.entropy, context.log, others, internal_topics
        )
        self._client_metrics = make_client_metrics(context)
        self._schema_validation = NodeSchemaValidation(context, applier, replicas)
        self._shares = LocalSharePartitions(
            SharingPorts(
                coordinators.share_persister,
                DeadLetterWriter(DeadLetterTopics(applier, channel), replicas, others, context.clock, context.log),
                replicas,
                self._remote_log,
                context.clock,
                asyncio.get_running_loop(),
                context.log,
            ),
            applier,
            sessions_max=settings.integer("group.share.max.share.sessions"),
        )
        self.broker = Broker(
            node_id=context.node_id,
            cluster_id=context.cluster_id,
            settings=settings,
            clock=context.clock,
            loop=asyncio.get_running_loop(),
            metadata=applier,
            replicas=replicas,
            controller=channel,
            quorum=quorum,
            producer_ids=ProducerIdBlocks(channel, context.node_id, self._broker_epoch),
            fetch_sessions=FetchSessions(settings.integer("max.incremental.fetch.session.cache.slots"), context.entropy),
            groups=coordinators.groups.coordinator,
            transactions=coordinators.transactions.coordinator,
            share_states=coordinators.share_states.coordinator,
            share_persister=coordinators.share_persister,
            share_group_states=coordinators.share_group_states,
            markers=coordinators.markers,
            metrics=context.metrics,
            log=context.log,
            access=access_of(settings, context.log),
            others=others,
            doubted_brokers=self.doubted_brokers,
            internal_topics=internal_topics,
            streams_topics=StreamsTopics(channel, context.clock, context.log, timeout_ms=settings.integer("request.timeout.ms")),
            remote_log=self._remote_log,
            directory_moves=self._moves,
            client_metrics=self._client_metrics,
            shares=self._shares,
            client_quotas=quotas,
            schema_validation=self._schema_validation.validation,
        )

    # -- making the parts --------------------------------------------------------------------------

    def _make_lifecycle(self, channel: ControllerChannel, addresses: OwnAddresses, previous_epoch: int) -> BrokerLifecycle:
        context, directories = self._context, self._directories
        online = [directory.directory_id for directory in directories.for_replicas if directory.online]
        incarnation = Uuid(random_uuid(context.entropy))
        return BrokerLifecycle(
            addresses.broker_registration(context.node_id, context.cluster_id, incarnation, online, previous_epoch),
            channel,
            self._applier,
            lambda: [directory.directory_id for directory in directories.for_replicas if not directory.online],
            context.log,
            cordoned_directories=lambda: self._cordoned.ids,
            interval_ms=context.settings.integer("broker.heartbeat.interval.ms"),
            registration_timeout_ms=context.settings.integer("initial.broker.registration.timeout.ms"),
        )

    def _make_moves(self) -> DirectoryMoves:
        context = self._context
        return DirectoryMoves(
            self.replicas,
            self._applier.newest,
            context.settings,
            context.clock,
            context.entropy,
            context.executor,
            self._directory_reports,
            self._care.removals,
            context.metrics,
            context.log,
            on_new_log=self._care.housekeeping.watch,
        )

    def _make_isr_reports(self, channel: ControllerChannel) -> IsrReports:
        context = self._context
        return IsrReports(
            channel,
            self.replicas,
            context.clock,
            context.log,
            node_id=context.node_id,
            broker_epoch=self._broker_epoch,
            lag_ms_max=context.settings.integer("replica.lag.time.max.ms"),
        )

    def _make_remote_log(self, others: OtherBrokers, internal_topics: InternalTopics) -> RemoteLog | None:
        settings = self._context.settings
        if not settings.flag("remote.log.storage.system.enable") or "broker" not in settings.strings("process.roles"):
            return None
        # Only a node with tiered storage loads it.
        from barnabas.tiered.remote_log import RemoteLog

        cache_directory = next(directory.path for directory in self._directories if directory.online)
        return RemoteLog(self._context, self.replicas, self._applier, others, internal_topics, cache_directory=cache_directory)

    def _make_fetchers(self, peers: Peers) -> ReplicaFetchers:
        context = self._context
        return ReplicaFetchers(
            context.node_id,
            self.replicas,
            peers,
            self._applier.newest,
            context.settings,
            context.clock,
            context.metrics,
            context.log,
            listener=inter_broker_listener_name(context.settings),
            broker_epoch=self._broker_epoch,
            on_tiered=self._remote_log.begin_following if self._remote_log is not None else None,
        )

    def _cluster_view(self) -> ClusterView:
        """Replicas act on metadata while it is published, so they see the newest image."""
        newest = self._applier.newest
        return ClusterView(
            broker=lambda broker_id: newest.image.cluster.brokers.get(broker_id),
            own_epoch=self._broker_epoch,
            propose=self._isr_reports.propose,
            lag_ms_max=self._context.settings.integer("replica.lag.time.max.ms"),
            counters=IsrCounters(self._context.metrics),
        )

    # -- calls from parts to parts that are made later ---------------------------------------------

    def _broker_epoch(self) -> int:
        return self.lifecycle.epoch

    def _heartbeat_soon(self) -> None:
        self.lifecycle.heartbeat_now()

    def _directory_failed(self, directory: LogDirectory, error: OSError) -> None:
        self._moves.directory_failed(directory)
        self._directory_failures.failed(directory, error)

    def _leads_in(self, directory: LogDirectory) -> bool:
        return any(replica.leader == self._context.node_id for replica in self.replicas if replica.directory is directory)

    # -- publishing, starting and stopping ---------------------------------------------------------

    @property
    def publishers(self) -> list[Publisher]:
        """The publishers, in the order in which they must receive a new image."""
        return [
            LogSettingsPublisher(self._context.node_id, self.replicas),
            # After the settings, and before any request: no batch overtakes one that waits.
            self._schema_validation,
            # Before the replicas: these are not placed in cordoned directories.
            self._cordoned,
            self._publisher,
            self._care.cleaner,
            # After the replicas: coordinators read the logs of theirs.
            *self._coordinators.publishers,
            ClientMetricsPublisher(self._client_metrics, self._context.log),
            self._shares,
            # Last: they look leaders up in the image of the request handlers, which changes right
            # after the last publisher.
            *([self._remote_log] if self._remote_log is not None else []),
            self.doubted_brokers,
        ]

    async def catch_up(self) -> None:
        """Returns when the broker is registered and caught up with the metadata."""
        self._applier.publish_from(await self.lifecycle.register())
        await awaited(self._applier.caught_up)

    async def become_active(self) -> None:
        """Returns when the broker is unfenced in its own image."""
        await self.lifecycle.become_active()
        strays = self._publisher.put_strays_aside()
        if strays:
            self._context.log.warning("partitions without a topic were put aside", directories=strays)
        self._isr_reports.start()
        self._acknowledgement_watch.start()
        self._care.start()
        await self._sees_itself_active()

    async def _sees_itself_active(self) -> None:
        """Returns when the image of this node shows the broker unfenced.

        The controller answers the heartbeat as soon as the unfencing is committed, before this
        node has published it. A client that asked in between would get a list of brokers without
        this one, and partitions without the leaders elected with it. The broker looks again after
        every further record. Heartbeats continue meanwhile, so that a broker which the controller
        fences at this moment is unfenced again.
        """
        applier, node_id = self._applier, self._context.node_id
        while not applier.image.cluster.active(node_id):
            await awaited(applier.applied(applier.image.provenance.offset + 1))

    async def leave(self) -> None:
        """Controlled shutdown: move this broker's leaderships to other brokers.

        Without a quorum no controller can answer, and it is no use to wait for one when the
        controllers are being stopped as well.
        """
        self.broker.internal_topics.stop()
        if not self._context.settings.flag("controlled.shutdown.enable"):
            return
        leaving = asyncio.ensure_future(self.lifecycle.leave(seconds_max=LEAVE_SECONDS_MAX))
        alone = 0.0
        while not leaving.done() and alone < LEADERLESS_SECONDS_MAX:
            await asyncio.wait([leaving], timeout=LEADER_CHECK_SECONDS)
            alone = alone + LEADER_CHECK_SECONDS if self._quorum.leader is None else 0.0
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)

    def stop(self) -> None:
        self.broker.internal_topics.stop()
        self.doubted_brokers.stop()
        self.lifecycle.stop()
        self._schema_validation.stop()
        self._isr_reports.stop()
        self._acknowledgement_watch.stop()
        self._fetchers.stop()
        self._moves.stop()
        self._directory_reports.stop()
        self._directory_failures.stop()
        self._shares.stop()
        self._coordinators.stop()
        self._client_metrics.stop()
        if self._remote_log is not None:
            self._remote_log.stop()
        self._care.stop()
        self._publisher.close()
        self._care.removals.stop()
