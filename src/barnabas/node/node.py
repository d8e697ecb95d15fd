"""A node: everything put together, started in order and stopped in the reverse.

    lock and identify directories -> open logs -> quorum -> controller -> register -> publish -> listen -> unfenced, ready

A node with one of the roles is the same with parts left out. The quorum is in all of them: a node that has no vote follows it.
Anything that stops a node from starting is a :class:`CannotStart` with one sentence for the user.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from barnabas.api.broker import Broker
from barnabas.api.broker_apis import BROKER_HANDLERS
from barnabas.api.controller_handlers import CONTROLLER_HANDLERS
from barnabas.api.dispatch import Dispatch
from barnabas.config.addresses import host_and_port
from barnabas.config.listeners import inter_broker_listener_name
from barnabas.config.settings import BrokerSettings
from barnabas.controller.controller import Controller
from barnabas.env.clock import Clock, SystemClock
from barnabas.env.disk import Disk
from barnabas.env.entropy import Entropy, SystemEntropy, random_uuid
from barnabas.env.real_disk import RealDisk
from barnabas.metadata.metadata_image import Provenance
from barnabas.metadata.snapshot import SnapshotId
from barnabas.model.ids import NodeId, Uuid
from barnabas.network.listener import Listener, PortTaken
from barnabas.network.peers import Peers
from barnabas.node.broker_lifecycle import BrokerLifecycle, RegistrationRefused
from barnabas.node.cannot_start import CannotStart
from barnabas.node.controller_channel import ControllerChannel
from barnabas.node.controller_driver import ControllerDriver
from barnabas.node.controller_registration import register_controller
from barnabas.node.coordinators import Coordinators
from barnabas.node.directories import NodeDirectories
from barnabas.node.directory_reports import DirectoryReports
from barnabas.node.format import FormatRefused, read_bootstrap
from barnabas.node.isr_reports import IsrReports
from barnabas.node.log_housekeeping import LogHousekeeping
from barnabas.node.metadata_applier import MetadataApplier, Snapshot
from barnabas.node.metadata_log import MetadataLog
from barnabas.node.own_addresses import OwnAddresses
from barnabas.node.producer_id_blocks import ProducerIdBlocks
from barnabas.node.promises import awaited
from barnabas.node.publishers.connection_limits import ConnectionLimitsPublisher
from barnabas.node.publishers.log_settings import LogSettingsPublisher
from barnabas.node.publishers.replicas import ReplicaPublisher
from barnabas.node.quorum_driver import QuorumDriver
from barnabas.node.quorum_identity import quorum_node
from barnabas.node.readings import register_readings
from barnabas.node.replica_fetchers import ReplicaFetchers
from barnabas.node.snapshots import Snapshots
from barnabas.raft.quorum_state import QuorumStateDamaged
from barnabas.replication.fetch_sessions import FetchSessions
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.surroundings import IsrCounters, Surroundings
from barnabas.storage.log_directory import DirectoryLocked, LogDirectory
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.meta_properties import MetaPropertiesDamaged
from barnabas.telemetry.logs import Log
from barnabas.telemetry.metrics import Metrics
from barnabas.telemetry.prometheus import PrometheusPage
from barnabas.wire.metadata_records import MetadataRecord

# Threads only wait for the disk; two let a checkpoint pass a long flush.
DISK_THREADS = 2
# How long a broker that stops waits for a controller to take over what it leads.
LEAVE_SECONDS_MAX = 15.0
# And how long for a controller to be there at all.
LEADERLESS_SECONDS_MAX = 2.0
LEADER_CHECK_SECONDS = 0.25


_REFUSALS = (DirectoryLocked, PortTaken, FormatRefused, MetaPropertiesDamaged, QuorumStateDamaged, RegistrationRefused)


@dataclass(frozen=True, slots=True)
class Ready:
    """What a started node tells."""

    bootstrap: str
    node_id: int
    cluster_id: str
    prometheus_port: int | None


class Node:
    def __init__(
        self,
        settings: BrokerSettings,
        *,
        log: Log | None = None,
        disk: Disk | None = None,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        dial: Callable[..., Peers] = Peers,
        listen: Callable[..., Listener] = Listener,
        on_fatal: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Everything outside is a port: ``dial`` makes the way to other nodes, ``listen`` the way in."""
        self.settings = settings
        self.log = log or Log()
        self.metrics = Metrics()
        self.node_id = NodeId(settings.integer("node.id"))
        self._disk = disk or RealDisk()
        self._clock = clock or SystemClock()
        self._entropy = entropy or SystemEntropy()
        self._dial = dial
        self._listen = listen
        self._on_fatal = on_fatal
        self._executor = ThreadPoolExecutor(DISK_THREADS, thread_name_prefix="disk")
        self._directories = NodeDirectories(settings, self.node_id, self._disk, self.log)
        self._addresses: OwnAddresses | None = None
        self._page: PrometheusPage | None = None
        self._lifecycle: BrokerLifecycle | None = None
        self._metadata_log: MetadataLog | None = None
        roles = settings.strings("process.roles")
        self._is_broker, self._is_controller = "broker" in roles, "controller" in roles
        self._registering: asyncio.Future[None] | None = None
        self._applier: MetadataApplier
        self._controller: ControllerDriver
        self._channel: ControllerChannel
        self._quorum: QuorumDriver
        self._peers: Peers
        self._snapshots: Snapshots
        self._stops: list[Callable[[], None]] = []
        self._delivered = 0  # committed batches of the metadata log up to here have been handed on
        self.failure: BaseException | None = None
        self.failed = asyncio.Event()
        self.cluster_id = ""
        self.broker: Broker

    # -- starting -------------------------------------------------------------------------------------------------------------

    async def start(self) -> Ready:
        try:
            return await self._start_or_fail()
        except BaseException as wrong:
            await self._undo()
            if isinstance(wrong, _REFUSALS):
                raise CannotStart(str(wrong)) from wrong
            if isinstance(wrong, OSError):
                raise CannotStart(f"{wrong.filename or 'the disk'}: {wrong.strerror or wrong}.") from wrong
            raise

    async def _start_or_fail(self) -> Ready:
        """A disk that fails under the metadata log is reported in the background, where nobody waits for the offset it had to write."""
        starting = asyncio.ensure_future(self._start())
        failed = asyncio.ensure_future(self.failed.wait())
        try:
            await asyncio.wait([starting, failed], return_when=asyncio.FIRST_COMPLETED)
            if self.failure is not None and not starting.done():
                raise self.failure
            return await starting
        finally:
            for task in (starting, failed):
                task.cancel()
            await asyncio.gather(starting, failed, return_exceptions=True)

    async def _start(self) -> Ready:
        settings, now_ms = self.settings, self._clock.wall_ms()
        self._addresses = addresses = OwnAddresses(
            settings, for_clients=BROKER_HANDLERS, for_controllers=CONTROLLER_HANDLERS, report=self._peer_refused, listen=self._listen
        )
        directories = self._directories
        directories.open()
        self.cluster_id = directories.cluster_id
        clean, previous_epoch = directories.take_clean_shutdown()
        found = directories.open_logs(clean=clean, now_ms=now_ms)

        self._metadata_log = metadata_log = MetadataLog(
            self._disk, directories.metadata_path, self._metadata_log_settings(), clean=clean, now_ms=now_ms
        )
        applier = self._applier = MetadataApplier(settings, self.node_id, self._fatal)
        replicas = LocalReplicas(list(directories), self._directory_failed, any_unopened=directories.any_unopened)
        peers = self._peers = self._dial(f"node-{self.node_id}", report=self._peer_failed)
        quorum = self._quorum = self._make_quorum(metadata_log, directories, addresses, peers)
        controller = self._controller = ControllerDriver(
            Controller(self.node_id, self.cluster_id, settings, self._entropy, quorum),
            quorum,
            applier,
            self._clock,
            read_bootstrap(self._disk, directories.metadata_path),
        )
        channel = self._channel = ControllerChannel(
            self.node_id,
            quorum,
            peers,
            self.log,
            local=controller if self._is_controller else None,
            timeout_ms=settings.integer("request.timeout.ms"),
        )
        housekeeping = LogHousekeeping(replicas, settings, applier, self._clock, self._executor, self.metrics)
        online = [directory.directory_id for directory in directories if directory.online]
        lifecycle = self._lifecycle = BrokerLifecycle(
            addresses.broker_registration(self.node_id, self.cluster_id, Uuid(random_uuid(self._entropy)), online, previous_epoch),
            channel,
            applier,
            lambda: [directory.directory_id for directory in directories if not directory.online],
            self.log,
            interval_ms=settings.integer("broker.heartbeat.interval.ms"),
            registration_timeout_ms=settings.integer("initial.broker.registration.timeout.ms"),
        )

        def broker_epoch() -> int:
            return lifecycle.epoch

        reports = DirectoryReports(channel, self.node_id, broker_epoch)
        isr_reports = IsrReports(
            channel,
            replicas,
            self._clock,
            self.log,
            node_id=self.node_id,
            broker_epoch=broker_epoch,
            lag_ms_max=settings.integer("replica.lag.time.max.ms"),
        )
        fetchers = ReplicaFetchers(
            self.node_id,
            replicas,
            peers,
            applier,
            settings,
            self._clock,
            self.metrics,
            self.log,
            listener=inter_broker_listener_name(settings),
            broker_epoch=broker_epoch,
        )
        publisher = ReplicaPublisher(
            self.node_id,
            replicas,
            found,
            clock=self._clock,
            entropy=self._entropy,
            executor=self._executor,
            metrics=self.metrics,
            log=self.log,
            on_placed=reports.placed,
            on_new_log=housekeeping.watch,
            surroundings=Surroundings(
                broker=lambda broker_id: applier.image.cluster.brokers.get(broker_id),
                own_epoch=broker_epoch,
                propose=isr_reports.propose,
                lag_ms_max=settings.integer("replica.lag.time.max.ms"),
                counters=IsrCounters(self.metrics),
            ),
            on_role=fetchers.follow,
            on_removed=fetchers.forget,
            on_lost=reports.lost,
        )
        for directory in directories:
            for log in directory.logs.values():
                housekeeping.watch(log)
        coordinators = Coordinators(settings, self.node_id, replicas, applier, self._clock, self._entropy, self.log, lambda: self.broker)
        applier.publishers = [ConnectionLimitsPublisher(addresses.all)]
        if self._is_broker:
            applier.publishers += [
                LogSettingsPublisher(self.node_id, replicas),
                publisher,
                # After the replicas: they read their logs.
                *coordinators.publishers,
            ]
        snapshots = self._snapshots = Snapshots(
            metadata_log, applier, quorum, settings, self._clock, self._executor, self.metrics, self._fatal
        )

        self.broker = Broker(
            node_id=self.node_id,
            cluster_id=self.cluster_id,
            settings=settings,
            clock=self._clock,
            loop=asyncio.get_running_loop(),
            metadata=applier,
            replicas=replicas,
            controller=channel,
            quorum=quorum,
            producer_ids=ProducerIdBlocks(channel, self.node_id, broker_epoch),
            fetch_sessions=FetchSessions(settings.integer("max.incremental.fetch.session.cache.slots"), self._entropy),
            groups=coordinators.groups.coordinator,
            transactions=coordinators.transactions.coordinator,
            metrics=self.metrics,
            log=self.log,
            peers=peers,
        )
        self._serve(addresses, controller)
        self._stops = [
            controller.stop,
            isr_reports.stop,
            fetchers.stop,
            reports.stop,
            channel.close,
            coordinators.stop,
            housekeeping.stop,
            snapshots.stop,
            publisher.close,
            quorum.close,
            peers.close,
        ]

        latest = metadata_log.read_latest_snapshot()
        if latest is not None:
            self._load_snapshot(*latest)
        quorum.start()
        for listener in addresses:
            if listener.for_controllers:
                listener.start()
        if self._is_controller:
            registration = addresses.controller_registration(self.node_id, Uuid(random_uuid(self._entropy)))
            self._registering = asyncio.ensure_future(register_controller(registration, channel))
        if self._is_broker:
            applier.publish_from(await lifecycle.register())
            await awaited(applier.caught_up)
            await lifecycle.become_active()
            strays = publisher.put_strays_aside()
            if strays:
                self.log.warning("partitions without a topic were put aside", directories=strays)
            isr_reports.start()
            housekeeping.start()
        else:
            applier.publish_from(0)
            await awaited(applier.caught_up)
        for listener in addresses:
            if not listener.for_controllers:
                listener.start()
        register_readings(self.metrics, self.broker, quorum, applier, addresses.all)
        self._start_page()
        snapshots.start()
        self._keep_log_moving(controller)
        return Ready(addresses.bootstrap, self.node_id, self.cluster_id, self._page.port if self._page else None)

    def _make_quorum(self, log: MetadataLog, directories: NodeDirectories, addresses: OwnAddresses, peers: Peers) -> QuorumDriver:
        core = quorum_node(
            self.settings,
            log.read_quorum_state(),
            self._entropy,
            cluster_id=self.cluster_id,
            directory_id=directories.metadata_directory_id,
            endpoints=addresses.for_controllers(),
        )
        return QuorumDriver(
            core,
            log,
            peers,
            self._clock,
            self._executor,
            on_committed=self._committed,
            on_leader=lambda epoch, start: self._controller.elected(epoch, start),
            on_resigned=lambda _: self._controller.resigned(),
            on_snapshot=self._snapshot_came,
            on_fatal=self._fatal,
            on_leader_known=lambda _: self._channel.leader_changed(),
            report=lambda problem: self.log.warning("quorum", problem=problem),
        )

    def _metadata_log_settings(self) -> LogSettings:
        return LogSettings(
            segment_bytes=self.settings.integer("metadata.log.segment.bytes"),
            segment_ms=self.settings.integer("metadata.log.segment.ms"),
        )

    def _directory_failed(self, directory: LogDirectory, error: OSError) -> None:
        self.log.error("log directory failed", directory=directory.path, error=str(error), partitions=len(directory.logs))
        if not self._directories.any_online or self._directories.holds_metadata(directory):
            self._fatal(error)

    # -- metadata -------------------------------------------------------------------------------------------------------------

    def _committed(self, high_watermark: int) -> None:
        assert self._metadata_log is not None
        # A snapshot that was fetched may stand for more than the quorum has told this node to be committed.
        if high_watermark > self._delivered:
            batches = list(self._metadata_log.batches(self._delivered, high_watermark))
            self._delivered = high_watermark
            self._applier.apply(batches)
        self._controller.committed(high_watermark)

    def _snapshot_came(self, snapshot: SnapshotId) -> None:
        """This node had fallen behind what the leader still has of the log."""
        assert self._metadata_log is not None
        latest = self._metadata_log.read_latest_snapshot()
        assert latest is not None, f"snapshot {snapshot} was installed and is not there"
        self._load_snapshot(*latest)

    def _load_snapshot(self, snapshot: SnapshotId, records: Sequence[MetadataRecord], timestamp_ms: int) -> None:
        self._delivered = snapshot.end_offset
        self._applier.apply([Snapshot(records, Provenance(snapshot.end_offset - 1, snapshot.epoch, timestamp_ms))])
        self._snapshots.loaded(snapshot)

    def _keep_log_moving(self, controller: ControllerDriver) -> None:
        idle_ms = self.settings.integer("metadata.max.idle.interval.ms")
        if idle_ms <= 0:
            return
        loop = asyncio.get_running_loop()

        def tick() -> None:
            controller.write_no_op(idle_ms=idle_ms)
            handle[0] = loop.call_later(idle_ms / 1000, tick)

        handle = [loop.call_later(idle_ms / 1000, tick)]
        self._stops.insert(0, lambda: handle[0].cancel())

    # -- network --------------------------------------------------------------------------------------------------------------

    def _serve(self, addresses: OwnAddresses, controller: ControllerDriver) -> None:
        """Behind a controller's listener nothing is passed on: who comes there wants this controller, or to hear that it is none."""
        serve_clients = Dispatch(self.broker, BROKER_HANDLERS).serve
        serve_controllers = Dispatch(replace(self.broker, controller=controller), CONTROLLER_HANDLERS).serve
        for listener in addresses:
            listener.serve = serve_controllers if listener.for_controllers else serve_clients

    def _peer_failed(self, address: str, reason: str) -> None:
        self.log.info("connection failed", peer=address, reason=reason)

    def _peer_refused(self, address: str, reason: str) -> None:
        self.log.info("connection refused", client=address, reason=reason)

    def _start_page(self) -> None:
        address = self.settings.text("barnabas.prometheus.listener")
        if not address:
            return
        parsed = host_and_port(address)
        assert parsed is not None, "checked when the setting was parsed"
        try:
            self._page = PrometheusPage(self.metrics, *parsed)
        except OSError as error:
            raise CannotStart(f"cannot serve Prometheus on {address}: {error.strerror}.") from error

    # -- stopping -------------------------------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """A clean end: nothing new, everything written down, the mark of a clean stop last."""
        assert self._lifecycle is not None
        assert self._addresses is not None
        for listener in self._addresses:
            # The others need to reach this controller until one of them leads: they ask it for its vote.
            if not listener.for_controllers:
                listener.stop_accepting()
        if self.failure is None:
            if self._is_broker:
                await self._leave()
            await awaited(self._quorum.stop())
        self._lifecycle.stop()
        for listener in self._addresses:
            listener.close()
        for stop in self._stops:
            stop()
        self._stops = []
        # Connections get one turn of the loop to send what is written.
        await asyncio.sleep(0)
        self._executor.shutdown(wait=True)
        if self.failure is None:
            assert self._metadata_log is not None
            self._metadata_log.close()
            self._directories.close(broker_epoch=self._lifecycle.epoch)
        await self._undo()

    async def _leave(self) -> None:
        """Without a quorum nobody can let this broker go, and there is no use in waiting for one that is being stopped as well."""
        assert self._lifecycle is not None
        leaving = asyncio.ensure_future(self._lifecycle.leave(seconds_max=LEAVE_SECONDS_MAX))
        alone = 0.0
        while not leaving.done() and alone < LEADERLESS_SECONDS_MAX:
            await asyncio.wait([leaving], timeout=LEADER_CHECK_SECONDS)
            alone = alone + LEADER_CHECK_SECONDS if self._quorum.leader is None else 0.0
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)

    async def _undo(self) -> None:
        """Give back what a node holds of the outside world, however far it came."""
        if self._page is not None:
            self._page.close()
        if self._registering is not None:
            self._registering.cancel()
        if self._lifecycle is not None:
            self._lifecycle.stop()
        for stop in self._stops:
            stop()
        self._stops = []
        if self._addresses is not None:
            self._addresses.close()
        self._directories.unlock()
        self._executor.shutdown(wait=False)

    def _fatal(self, error: BaseException) -> None:
        """The node cannot go on. Nothing more is written, so that the next start recovers from what is on disk."""
        if self.failure is None:
            self.failure = error
            self.log.error("node halts", error=str(error), exc_info=error)
            self.failed.set()
            if self._on_fatal is not None:
                self._on_fatal(error)
