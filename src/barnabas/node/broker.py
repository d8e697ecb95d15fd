"""What a node has for its role as a broker: replicas and those who feed, count, clean and report them; coordinators; its life in the
cluster.

Made in every node, since the handlers of a controller are given the same :class:`~barnabas.api.broker.Broker`, and begun only in those
that have the role.
"""

from __future__ import annotations

import asyncio

from barnabas.api.broker import Broker
from barnabas.config.listeners import inter_broker_listener_name
from barnabas.controller.broker_lifecycle import BrokerLifecycle
from barnabas.controller.channel import ControllerChannel
from barnabas.controller.internal_topics import InternalTopics
from barnabas.controller.producer_id_blocks import ProducerIdBlocks
from barnabas.coordinators.local_coordinators import LocalCoordinators
from barnabas.env.awaiting import awaited
from barnabas.env.entropy import random_uuid
from barnabas.logcare.cleaner import LogCleaner
from barnabas.logcare.directories.cordoned import CordonedDirectories
from barnabas.logcare.directories.failures import DirectoryFailures
from barnabas.logcare.directories.moves import DirectoryMoves
from barnabas.logcare.directories.node_directories import NodeDirectories
from barnabas.logcare.directories.reports import DirectoryReports
from barnabas.logcare.housekeeping import LogHousekeeping
from barnabas.logcare.log_settings import LogSettingsPublisher
from barnabas.logcare.retention import LogRetention
from barnabas.metadata.applier import MetadataApplier, Publisher
from barnabas.model.ids import Uuid
from barnabas.network.peers import Peers
from barnabas.node.addresses import OwnAddresses
from barnabas.node_context import NodeContext
from barnabas.quorum.driver import QuorumDriver
from barnabas.replication.acknowledgement_watch import AcknowledgementWatch
from barnabas.replication.cluster_view import ClusterView, IsrCounters
from barnabas.replication.fetch_sessions import FetchSessions
from barnabas.replication.fetchers import ReplicaFetchers
from barnabas.replication.isr_reports import IsrReports
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.other_brokers import OtherBrokers
from barnabas.replication.partition import Partition
from barnabas.replication.publisher import ReplicaPublisher
from barnabas.storage.delayed_removals import Removals
from barnabas.storage.found_logs import FoundLogs
from barnabas.storage.log_directory import LogDirectory
from barnabas.tiered.remote_log import RemoteLog

# How long a broker that stops waits for a controller to take over what it leads.
LEAVE_SECONDS_MAX = 15.0
# And how long for a controller to be there at all.
LEADERLESS_SECONDS_MAX = 2.0
LEADER_CHECK_SECONDS = 0.25


class BrokerParts:
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
        *,
        previous_epoch: int,
    ) -> None:
        """``found`` are the logs that were on disk; ``previous_epoch`` is the broker's own before a clean stop."""
        settings, node_id, clock, entropy = context.settings, context.node_id, context.clock, context.entropy
        self._context = context
        self._directories = directories
        self._applier = applier
        self._quorum = quorum
        replicas = self.replicas = LocalReplicas(directories.for_replicas, self._directory_failed, unopened=directories.unopened)
        online = [directory.directory_id for directory in directories.for_replicas if directory.online]
        self._cordoned = CordonedDirectories(directories.for_replicas, lambda: self.lifecycle.hurry())
        lifecycle = self.lifecycle = BrokerLifecycle(
            addresses.broker_registration(node_id, context.cluster_id, Uuid(random_uuid(entropy)), online, previous_epoch),
            channel,
            applier,
            lambda: [directory.directory_id for directory in directories.for_replicas if not directory.online],
            context.log,
            cordoned_directories=lambda: self._cordoned.ids,
            interval_ms=settings.integer("broker.heartbeat.interval.ms"),
            registration_timeout_ms=settings.integer("initial.broker.registration.timeout.ms"),
        )

        def broker_epoch() -> int:
            return lifecycle.epoch

        self._directory_failures = DirectoryFailures(context, directories, lifecycle, self._leads_in)
        replicas.on_full = self._directory_failures.full
        # What follows acts on metadata while it is being published, and so must see the image that is being published.
        newest = applier.newest
        self._housekeeping = LogHousekeeping(replicas, settings, newest, clock, context.executor, context.metrics)
        self._removals = Removals(context.executor, replicas.disk_failed)
        self._cleaner = LogCleaner(context, replicas, self._removals, applier.effective, flush=self._housekeeping.flush)
        self._retention = LogRetention(
            replicas,
            clock,
            context.executor,
            self._removals,
            context.metrics,
            context.log,
            interval_ms=settings.integer("log.retention.check.interval.ms"),
            flush=self._housekeeping.flush,
        )
        self._directory_reports = DirectoryReports(channel, node_id, broker_epoch)
        self._moves = DirectoryMoves(
            replicas,
            newest,
            settings,
            clock,
            entropy,
            context.executor,
            self._directory_reports,
            self._removals,
            context.metrics,
            context.log,
            on_new_log=self._housekeeping.watch,
        )
        self._isr_reports = IsrReports(
            channel,
            replicas,
            clock,
            context.log,
            node_id=node_id,
            broker_epoch=broker_epoch,
            lag_ms_max=settings.integer("replica.lag.time.max.ms"),
        )
        self._acknowledgement_watch = AcknowledgementWatch(replicas, clock, context.log)
        others = OtherBrokers(applier, peers, settings)
        internal_topics = InternalTopics(channel, settings, context.log)
        tiered = settings.flag("remote.log.storage.system.enable") and "broker" in settings.strings("process.roles")
        self._remote_log = (
            RemoteLog(context, replicas, applier, others, internal_topics, cache_directory=_first_online(directories)) if tiered else None
        )
        self._fetchers = ReplicaFetchers(
            node_id,
            replicas,
            peers,
            newest,
            settings,
            clock,
            context.metrics,
            context.log,
            listener=inter_broker_listener_name(settings),
            broker_epoch=broker_epoch,
            on_tiered=self._remote_log.begin_following if self._remote_log is not None else None,
        )
        self._publisher = ReplicaPublisher(
            node_id,
            replicas,
            found,
            clock=clock,
            entropy=entropy,
            executor=context.executor,
            metrics=context.metrics,
            log=context.log,
            removals=self._removals,
            on_placed=self._directory_reports.placed,
            on_new_log=self._housekeeping.watch,
            cluster_view=ClusterView(
                broker=lambda broker_id: newest.image.cluster.brokers.get(broker_id),
                own_epoch=broker_epoch,
                propose=self._isr_reports.propose,
                lag_ms_max=settings.integer("replica.lag.time.max.ms"),
                counters=IsrCounters(context.metrics),
            ),
            on_role=self._fetchers.follow,
            on_removed=self._forget,
            on_lost=self._directory_reports.lost,
            on_copy=self._moves.resume,
        )
        for directory in directories:
            for log in directory.logs.values():
                self._housekeeping.watch(log)
        coordinators = self._coordinators = LocalCoordinators(settings, node_id, replicas, applier, clock, entropy, context.log, others)
        self.broker = Broker(
            node_id=node_id,
            cluster_id=context.cluster_id,
            settings=settings,
            clock=clock,
            loop=asyncio.get_running_loop(),
            metadata=applier,
            replicas=replicas,
            controller=channel,
            quorum=quorum,
            producer_ids=ProducerIdBlocks(channel, node_id, broker_epoch),
            fetch_sessions=FetchSessions(settings.integer("max.incremental.fetch.session.cache.slots"), entropy),
            groups=coordinators.groups.coordinator,
            transactions=coordinators.transactions.coordinator,
            metrics=context.metrics,
            log=context.log,
            others=others,
            internal_topics=internal_topics,
            markers=coordinators.markers,
            remote_log=self._remote_log,
            directory_moves=self._moves,
        )

    @property
    def publishers(self) -> list[Publisher]:
        """In the order in which they must hear of news."""
        return [
            LogSettingsPublisher(self._context.node_id, self.replicas),
            # Before replicas are placed.
            self._cordoned,
            self._publisher,
            self._cleaner,
            # After the replicas: they read their logs.
            *self._coordinators.publishers,
            # Last: it looks leaders up in the image of the request handlers, which changes right after the last publisher.
            *([self._remote_log] if self._remote_log is not None else []),
        ]

    async def start(self) -> None:
        """Returns when the broker is registered, has caught up with the metadata, may lead, and knows it."""
        self._applier.publish_from(await self.lifecycle.register())
        await awaited(self._applier.caught_up)
        await self.lifecycle.become_active()
        strays = self._publisher.put_strays_aside()
        if strays:
            self._context.log.warning("partitions without a topic were put aside", directories=strays)
        self._isr_reports.start()
        self._acknowledgement_watch.start()
        self._housekeeping.start()
        self._retention.start()
        self._cleaner.start()
        await self._sees_itself_active()

    async def _sees_itself_active(self) -> None:
        """Returns when the image of this node shows the broker unfenced.

        The controller answers the heartbeat as soon as the unfencing is committed, which is before this node has published it. A client
        that asked in between would get a list of brokers without this one, and partitions without the leaders that came with it. Every
        further record is a reason to look again; heartbeats go on meanwhile, so that a broker which the controller fences in this
        moment is unfenced again."""
        applier, node_id = self._applier, self._context.node_id
        while not applier.image.cluster.active(node_id):
            await awaited(applier.applied(applier.image.provenance.offset + 1))

    def _forget(self, replica: Partition) -> None:
        """A replica has left this node."""
        self._fetchers.forget(replica)
        self._moves.forget(replica)
        self._cleaner.forget(replica)

    def _directory_failed(self, directory: LogDirectory, error: OSError) -> None:
        self._moves.directory_failed(directory)
        self._directory_failures.failed(directory, error)

    def _leads_in(self, directory: LogDirectory) -> bool:
        return any(replica.leader == self._context.node_id for replica in self.replicas if replica.directory is directory)

    async def leave(self) -> None:
        """Hand over what this broker leads. Without a quorum nobody can let it go, and there is no use in waiting for one that is being
        stopped as well."""
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
        self.lifecycle.stop()
        self._isr_reports.stop()
        self._acknowledgement_watch.stop()
        self._fetchers.stop()
        self._moves.stop()
        self._directory_reports.stop()
        self._directory_failures.stop()
        self._coordinators.stop()
        if self._remote_log is not None:
            self._remote_log.stop()
        self._cleaner.stop()
        self._housekeeping.stop()
        self._retention.stop()
        self._publisher.close()
        self._removals.stop()


def _first_online(directories: NodeDirectories) -> str:
    return next(directory.path for directory in directories if directory.online)
