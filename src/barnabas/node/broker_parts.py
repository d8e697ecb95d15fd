"""What a node has for its role as a broker: replicas and those who feed, count, clean and report them; coordinators; its life in the
cluster.

Made in every node, since the handlers of a controller are given the same :class:`~barnabas.api.broker.Broker`, and begun only in those
that have the role.
"""

from __future__ import annotations

import asyncio

from barnabas.api.broker import Broker
from barnabas.config.listeners import inter_broker_listener_name
from barnabas.env.entropy import random_uuid
from barnabas.model.ids import Uuid
from barnabas.network.peers import Peers
from barnabas.node.acknowledgement_watch import AcknowledgementWatch
from barnabas.node.broker_lifecycle import BrokerLifecycle
from barnabas.node.controller_channel import ControllerChannel
from barnabas.node.coordinators import Coordinators
from barnabas.node.directories import FoundLogs, NodeDirectories
from barnabas.node.directory_failures import DirectoryFailures
from barnabas.node.directory_moves import DirectoryMoves
from barnabas.node.directory_reports import DirectoryReports
from barnabas.node.ground import Ground
from barnabas.node.isr_reports import IsrReports
from barnabas.node.log_cleaner import LogCleaner
from barnabas.node.log_housekeeping import LogHousekeeping
from barnabas.node.log_retention import LogRetention
from barnabas.node.metadata_applier import MetadataApplier, Publisher
from barnabas.node.own_addresses import OwnAddresses
from barnabas.node.producer_id_blocks import ProducerIdBlocks
from barnabas.node.promises import awaited
from barnabas.node.publishers.cordoned_directories import CordonedDirectories
from barnabas.node.publishers.log_settings import LogSettingsPublisher
from barnabas.node.publishers.replicas import ReplicaPublisher
from barnabas.node.quorum_driver import QuorumDriver
from barnabas.node.remote_log.remote_log import RemoteLog
from barnabas.node.removals import Removals
from barnabas.node.replica_fetchers import ReplicaFetchers
from barnabas.replication.fetch_sessions import FetchSessions
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.partition import Partition
from barnabas.replication.surroundings import IsrCounters, Surroundings
from barnabas.storage.log_directory import LogDirectory

# How long a broker that stops waits for a controller to take over what it leads.
LEAVE_SECONDS_MAX = 15.0
# And how long for a controller to be there at all.
LEADERLESS_SECONDS_MAX = 2.0
LEADER_CHECK_SECONDS = 0.25


class BrokerParts:
    def __init__(
        self,
        ground: Ground,
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
        settings, node_id, clock, entropy = ground.settings, ground.node_id, ground.clock, ground.entropy
        self._ground = ground
        self._directories = directories
        self._applier = applier
        self._quorum = quorum
        replicas = self.replicas = LocalReplicas(directories.for_replicas, self._directory_failed, unopened=directories.unopened)
        online = [directory.directory_id for directory in directories.for_replicas if directory.online]
        self._cordoned = CordonedDirectories(directories.for_replicas, lambda: self.lifecycle.hurry())
        lifecycle = self.lifecycle = BrokerLifecycle(
            addresses.broker_registration(node_id, ground.cluster_id, Uuid(random_uuid(entropy)), online, previous_epoch),
            channel,
            applier,
            lambda: [directory.directory_id for directory in directories.for_replicas if not directory.online],
            ground.log,
            cordoned_directories=lambda: self._cordoned.ids,
            interval_ms=settings.integer("broker.heartbeat.interval.ms"),
            registration_timeout_ms=settings.integer("initial.broker.registration.timeout.ms"),
        )

        def broker_epoch() -> int:
            return lifecycle.epoch

        self._directory_failures = DirectoryFailures(ground, directories, lifecycle, self._leads_in)
        replicas.on_full = self._directory_failures.full
        # What follows acts on metadata while it is being published, and so must see the image that is being published.
        newest = applier.newest
        self._housekeeping = LogHousekeeping(replicas, settings, newest, clock, ground.executor, ground.metrics)
        self._removals = Removals(ground.executor, replicas.disk_failed)
        self._cleaner = LogCleaner(ground, replicas, self._removals, applier.effective, flush=self._housekeeping.flush)
        self._retention = LogRetention(
            replicas,
            clock,
            ground.executor,
            self._removals,
            ground.metrics,
            ground.log,
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
            ground.executor,
            self._directory_reports,
            self._removals,
            ground.metrics,
            ground.log,
            on_new_log=self._housekeeping.watch,
        )
        self._isr_reports = IsrReports(
            channel,
            replicas,
            clock,
            ground.log,
            node_id=node_id,
            broker_epoch=broker_epoch,
            lag_ms_max=settings.integer("replica.lag.time.max.ms"),
        )
        self._acknowledgement_watch = AcknowledgementWatch(replicas, clock, ground.log)
        tiered = settings.flag("remote.log.storage.system.enable") and "broker" in settings.strings("process.roles")
        self._remote_log = RemoteLog(ground, replicas, lambda: self.broker, cache_directory=_first_online(directories)) if tiered else None
        self._fetchers = ReplicaFetchers(
            node_id,
            replicas,
            peers,
            newest,
            settings,
            clock,
            ground.metrics,
            ground.log,
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
            executor=ground.executor,
            metrics=ground.metrics,
            log=ground.log,
            removals=self._removals,
            on_placed=self._directory_reports.placed,
            on_new_log=self._housekeeping.watch,
            surroundings=Surroundings(
                broker=lambda broker_id: newest.image.cluster.brokers.get(broker_id),
                own_epoch=broker_epoch,
                propose=self._isr_reports.propose,
                lag_ms_max=settings.integer("replica.lag.time.max.ms"),
                counters=IsrCounters(ground.metrics),
            ),
            on_role=self._fetchers.follow,
            on_removed=self._forget,
            on_lost=self._directory_reports.lost,
            on_copy=self._moves.resume,
        )
        for directory in directories:
            for log in directory.logs.values():
                self._housekeeping.watch(log)
        coordinators = self._coordinators = Coordinators(
            settings, node_id, replicas, applier, clock, entropy, ground.log, lambda: self.broker
        )
        self.broker = Broker(
            node_id=node_id,
            cluster_id=ground.cluster_id,
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
            metrics=ground.metrics,
            log=ground.log,
            peers=peers,
            remote_log=self._remote_log,
            directory_moves=self._moves,
        )

    @property
    def publishers(self) -> list[Publisher]:
        """In the order in which they must hear of news."""
        return [
            LogSettingsPublisher(self._ground.node_id, self.replicas),
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
            self._ground.log.warning("partitions without a topic were put aside", directories=strays)
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
        applier, node_id = self._applier, self._ground.node_id
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
        return any(replica.leader == self._ground.node_id for replica in self.replicas if replica.directory is directory)

    async def leave(self) -> None:
        """Hand over what this broker leads. Without a quorum nobody can let it go, and there is no use in waiting for one that is being
        stopped as well."""
        if not self._ground.settings.flag("controlled.shutdown.enable"):
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
