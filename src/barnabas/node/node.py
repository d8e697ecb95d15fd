"""A node: everything put together, started in order and stopped in the reverse.

    lock and identify directories -> open logs -> quorum -> controller -> register -> publish -> listen -> unfenced, ready

A node with one of the roles is the same with parts left out; today it has both, being a quorum of its own.
Anything that stops a node from starting is a :class:`CannotStart` with one sentence for the user.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from barnabas.api.broker import Broker
from barnabas.api.broker_apis import BROKER_HANDLERS, CONTROLLER_HANDLERS
from barnabas.api.dispatch import Dispatch
from barnabas.config.addresses import host_and_port, voter
from barnabas.config.settings import BrokerSettings
from barnabas.controller.controller import Controller
from barnabas.env.clock import Clock, SystemClock
from barnabas.env.disk import Disk
from barnabas.env.entropy import Entropy, SystemEntropy, random_uuid
from barnabas.env.real_disk import RealDisk
from barnabas.metadata.metadata_image import Provenance
from barnabas.model.ids import NodeId, Uuid
from barnabas.network.listener import PortTaken
from barnabas.node.broker_lifecycle import BrokerLifecycle, RegistrationRefused
from barnabas.node.cannot_start import CannotStart
from barnabas.node.controller_driver import ControllerDriver
from barnabas.node.coordinators import Coordinators
from barnabas.node.directories import NodeDirectories
from barnabas.node.directory_reports import DirectoryReports
from barnabas.node.format import FormatRefused, read_bootstrap
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
from barnabas.node.readings import register_readings
from barnabas.node.snapshots import Snapshots
from barnabas.raft.node import QuorumNode
from barnabas.raft.quorum_state import QuorumStateDamaged
from barnabas.replication.fetch_sessions import FetchSessions
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.storage.log_directory import DirectoryLocked, LogDirectory
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.meta_properties import MetaPropertiesDamaged
from barnabas.telemetry.logs import Log
from barnabas.telemetry.metrics import Metrics
from barnabas.telemetry.prometheus import PrometheusPage

# Threads only wait for the disk; two let a checkpoint pass a long flush.
DISK_THREADS = 2
# How long a broker that stops waits for a controller to take over what it leads.
LEAVE_SECONDS_MAX = 15.0


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
        on_fatal: Callable[[BaseException], None] | None = None,
    ) -> None:
        self.settings = settings
        self.log = log or Log()
        self.metrics = Metrics()
        self.node_id = NodeId(settings.integer("node.id"))
        self._disk = disk or RealDisk()
        self._clock = clock or SystemClock()
        self._entropy = entropy or SystemEntropy()
        self._on_fatal = on_fatal
        self._executor = ThreadPoolExecutor(DISK_THREADS, thread_name_prefix="disk")
        self._directories = NodeDirectories(settings, self.node_id, self._disk, self.log)
        self._addresses: OwnAddresses | None = None
        self._page: PrometheusPage | None = None
        self._lifecycle: BrokerLifecycle | None = None
        self._metadata_log: MetadataLog | None = None
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
        self._check_quorum()
        self._addresses = addresses = OwnAddresses(
            settings, for_clients=BROKER_HANDLERS, for_controllers=CONTROLLER_HANDLERS, report=self._peer_refused
        )
        directories = self._directories
        directories.open()
        self.cluster_id = directories.cluster_id
        clean, previous_epoch = directories.take_clean_shutdown()
        found = directories.open_logs(clean=clean, now_ms=now_ms)

        self._metadata_log = metadata_log = MetadataLog(
            self._disk, directories.metadata_path, self._metadata_log_settings(), clean=clean, now_ms=now_ms
        )
        applier = MetadataApplier(settings, self.node_id, self._fatal)
        replicas = LocalReplicas(list(directories), self._directory_failed)
        core = QuorumNode(self.node_id, (self.node_id,), metadata_log.read_quorum_state())
        quorum = QuorumDriver(
            core,
            metadata_log,
            self._clock,
            self._executor,
            on_committed=lambda high_watermark: self._committed(applier, controller, high_watermark),
            on_leader=lambda start: controller.elected(core.epoch, start),
            on_fatal=self._fatal,
        )
        controller = ControllerDriver(
            Controller(self.node_id, self.cluster_id, settings, self._entropy),
            quorum,
            applier,
            self._clock,
            read_bootstrap(self._disk, directories.metadata_path),
        )
        housekeeping = LogHousekeeping(replicas, settings, applier, self._clock, self._executor, self.metrics)
        online = [directory.directory_id for directory in directories if directory.online]
        lifecycle = self._lifecycle = BrokerLifecycle(
            addresses.broker_registration(self.node_id, self.cluster_id, Uuid(random_uuid(self._entropy)), online, previous_epoch),
            controller,
            applier,
            lambda: [directory.directory_id for directory in directories if not directory.online],
            self.log,
            interval_ms=settings.integer("broker.heartbeat.interval.ms"),
            registration_timeout_ms=settings.integer("initial.broker.registration.timeout.ms"),
        )
        reports = DirectoryReports(controller, self.node_id, lambda: lifecycle.epoch)
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
        )
        for directory in directories:
            for log in directory.logs.values():
                housekeeping.watch(log)
        coordinators = Coordinators(settings, self.node_id, replicas, applier, self._clock, self._entropy, self.log, lambda: self.broker)
        applier.publishers = [
            LogSettingsPublisher(self.node_id, replicas),
            ConnectionLimitsPublisher(addresses.all),
            publisher,
            # After the replicas: they read their logs.
            *coordinators.publishers,
        ]
        snapshots = Snapshots(metadata_log, applier, quorum, settings, self._clock, self._executor, self.metrics, self._fatal)

        self.broker = Broker(
            node_id=self.node_id,
            cluster_id=self.cluster_id,
            settings=settings,
            clock=self._clock,
            loop=asyncio.get_running_loop(),
            metadata=applier,
            replicas=replicas,
            controller=controller,
            quorum=quorum,
            producer_ids=ProducerIdBlocks(controller, self.node_id, lambda: lifecycle.epoch),
            fetch_sessions=FetchSessions(settings.integer("max.incremental.fetch.session.cache.slots"), self._entropy),
            groups=coordinators.groups.coordinator,
            transactions=coordinators.transactions.coordinator,
            metrics=self.metrics,
            log=self.log,
        )
        self._serve(addresses)

        latest = metadata_log.read_latest_snapshot()
        if latest is not None:
            snapshot, records, timestamp = latest
            self._delivered = snapshot.end_offset
            applier.apply([Snapshot(records, Provenance(snapshot.end_offset - 1, snapshot.epoch, timestamp))])
            snapshots.loaded(snapshot)
        quorum.start()
        await awaited(applier.read(core.epoch_start_offset))
        await awaited(controller.submit(addresses.controller_registration(self.node_id, Uuid(random_uuid(self._entropy)))))

        applier.publish_from(await lifecycle.register())
        await awaited(applier.caught_up)
        await lifecycle.become_active()
        strays = publisher.put_strays_aside()
        if strays:
            self.log.warning("partitions without a topic were put aside", directories=strays)
        for listener in addresses:
            listener.start()
        register_readings(self.metrics, self.broker, quorum, applier, addresses.all)
        self._start_page()
        housekeeping.start()
        snapshots.start()
        self._stops = [controller.stop, coordinators.stop, housekeeping.stop, snapshots.stop, publisher.close, quorum.stop]
        self._keep_log_moving(controller)
        return Ready(addresses.bootstrap, self.node_id, self.cluster_id, self._page.port if self._page else None)

    def _check_quorum(self) -> None:
        roles = set(self.settings.strings("process.roles"))
        voters = [parsed[0] for parsed in map(voter, self.settings.strings("controller.quorum.voters")) if parsed is not None]
        if roles != {"broker", "controller"} or voters != [self.node_id]:
            raise CannotStart(
                "process.roles must be broker,controller and controller.quorum.voters must name this node alone:"
                " clusters of several nodes arrive with replication."
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

    def _committed(self, applier: MetadataApplier, controller: ControllerDriver, high_watermark: int) -> None:
        assert self._metadata_log is not None
        batches = list(self._metadata_log.batches(self._delivered, high_watermark))
        self._delivered = high_watermark
        applier.apply(batches)
        controller.committed(high_watermark)

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

    def _serve(self, addresses: OwnAddresses) -> None:
        serve_clients = Dispatch(self.broker, BROKER_HANDLERS).serve
        serve_controllers = Dispatch(self.broker, CONTROLLER_HANDLERS).serve
        for listener in addresses:
            listener.serve = serve_controllers if listener.for_controllers else serve_clients

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
            listener.stop_accepting()
        if self.failure is None:
            await self._lifecycle.leave(seconds_max=LEAVE_SECONDS_MAX)
        self._lifecycle.stop()
        for listener in self._addresses:
            listener.close()
        for stop in self._stops:
            stop()
        # Connections get one turn of the loop to send what is written.
        await asyncio.sleep(0)
        self._executor.shutdown(wait=True)
        if self.failure is None:
            assert self._metadata_log is not None
            self._metadata_log.close()
            self._directories.close(broker_epoch=self._lifecycle.epoch)
        await self._undo()

    async def _undo(self) -> None:
        """Give back what a node holds of the outside world, however far it came."""
        if self._page is not None:
            self._page.close()
        if self._lifecycle is not None:
            self._lifecycle.stop()
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
