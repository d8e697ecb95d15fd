"""A node: everything put together, started in order and stopped in the reverse.

    lock and identify directories -> open logs -> quorum -> controller -> register -> publish -> listen -> unfenced, ready

A node with one of the roles is the same with parts left out; today it has both, being a quorum of its own.
Anything that stops a node from starting is a :class:`CannotStart` with one sentence for the user.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from barnabas.api.broker import Broker
from barnabas.api.broker_apis import BROKER_HANDLERS, CONTROLLER_HANDLERS
from barnabas.api.dispatch import Dispatch
from barnabas.config.addresses import host_and_port, voter
from barnabas.config.listeners import (
    Listener as ListenerAddress,
    advertised_controller_listeners,
    advertised_listeners,
    controller_listeners,
    listeners,
)
from barnabas.config.settings import BrokerSettings
from barnabas.controller.controller import Controller
from barnabas.controller.features import SUPPORTED_FEATURES
from barnabas.env.clock import Clock, SystemClock
from barnabas.env.disk import Disk
from barnabas.env.entropy import Entropy, SystemEntropy, random_uuid
from barnabas.env.real_disk import RealDisk
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_image import Provenance
from barnabas.model.ids import NodeId, TopicPartition, Uuid
from barnabas.network.listener import Listener, PortTaken
from barnabas.node.broker_lifecycle import BrokerLifecycle, RegistrationRefused
from barnabas.node.connection_limits import connection_limits
from barnabas.node.controller_driver import ControllerDriver
from barnabas.node.coordinators import Coordinators
from barnabas.node.directory_reports import DirectoryReports
from barnabas.node.format import FormatRefused, read_bootstrap
from barnabas.node.log_housekeeping import LogHousekeeping
from barnabas.node.metadata_applier import MetadataApplier
from barnabas.node.metadata_log import MetadataLog
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
from barnabas.storage.log_directory import UNKNOWN_BROKER_EPOCH, DirectoryLocked, FoundLog, LogDirectory
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.meta_properties import MetaPropertiesDamaged, read_meta_properties
from barnabas.telemetry.logs import Log
from barnabas.telemetry.metrics import Metrics
from barnabas.telemetry.prometheus import PrometheusPage
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener as RegisteredListener
from barnabas.wire.messages.controller_registration import (
    ControllerRegistrationRequest,
    Feature as ControllerFeature,
    Listener as ControllerListener,
)

# Threads only wait for the disk; two let a checkpoint pass a long flush.
DISK_THREADS = 2
_PROTOCOL_PLAINTEXT = 0


_REFUSALS = (DirectoryLocked, PortTaken, FormatRefused, MetaPropertiesDamaged, QuorumStateDamaged, RegistrationRefused)


class CannotStart(Exception):
    """Why a node refuses to start: one sentence."""


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
        self._listeners: list[Listener] = []
        self._directories: list[LogDirectory] = []
        self._page: PrometheusPage | None = None
        self._lifecycle: BrokerLifecycle | None = None
        self._metadata_log: MetadataLog | None = None
        self._stops: list[Callable[[], None]] = []
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
        # Ports first: a taken one is the commonest mistake, and nothing has been touched yet.
        bound = self._bind()
        metadata_path = self._open_directories()
        clean, previous_epoch = self._take_clean_shutdown()
        found = self._open_logs(clean=clean, now_ms=now_ms)

        self._metadata_log = metadata_log = MetadataLog(
            self._disk, metadata_path, self._metadata_log_settings(), clean=clean, now_ms=now_ms
        )
        applier = MetadataApplier(settings, self.node_id, self._fatal)
        replicas = LocalReplicas(self._directories, self._directory_failed)
        core = QuorumNode(self.node_id, (self.node_id,), metadata_log.read_quorum_state())
        led = asyncio.Event()
        quorum = QuorumDriver(
            core,
            metadata_log,
            self._clock,
            self._executor,
            on_committed=lambda high_watermark: self._deliver(applier, high_watermark),
            on_leader=lambda _: led.set(),
            on_fatal=self._fatal,
        )
        controller = ControllerDriver(
            Controller(self.node_id, self.cluster_id, settings, self._entropy),
            quorum,
            applier,
            self._clock,
            read_bootstrap(self._disk, metadata_path),
        )
        housekeeping = LogHousekeeping(replicas, settings, applier, self._clock, self._executor, self.metrics)
        lifecycle = self._lifecycle = BrokerLifecycle(
            self._registration(bound, previous_epoch),
            controller,
            applier,
            self.log,
            interval_ms=settings.integer("broker.heartbeat.interval.ms"),
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
        for directory in self._directories:
            for log in directory.logs.values():
                housekeeping.watch(log)
        coordinators = Coordinators(settings, self.node_id, replicas, applier, self._clock, self._entropy, self.log, lambda: self.broker)
        applier.publishers = [
            LogSettingsPublisher(self.node_id, replicas),
            ConnectionLimitsPublisher(self._listeners),
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

        latest = metadata_log.read_latest_snapshot()
        self._delivered = 0
        if latest is not None:
            snapshot, records, timestamp = latest
            self._delivered = snapshot.end_offset
            applier.load_snapshot(records, Provenance(snapshot.end_offset - 1, snapshot.epoch, timestamp))
            snapshots.loaded(snapshot)
        quorum.start()
        applier.publish_from(core.epoch_start_offset)
        await led.wait()
        await awaited(applier.caught_up)
        controller.take_office()
        await awaited(controller.submit(self._controller_registration(bound)))

        self._create_listeners(bound)
        await lifecycle.register()
        strays = publisher.put_strays_aside()
        if strays:
            self.log.warning("partitions without a topic were put aside", directories=strays)
        for listener in self._listeners:
            listener.start()
        register_readings(self.metrics, self.broker, quorum, applier, self._listeners)
        self._start_page()
        housekeeping.start()
        snapshots.start()
        self._stops = [coordinators.stop, housekeeping.stop, snapshots.stop, publisher.close, quorum.stop]
        self._keep_log_moving(controller)
        return Ready(self._bootstrap(), self.node_id, self.cluster_id, self._page.port if self._page else None)

    def _check_quorum(self) -> None:
        roles = set(self.settings.strings("process.roles"))
        voters = [parsed[0] for parsed in map(voter, self.settings.strings("controller.quorum.voters")) if parsed is not None]
        if roles != {"broker", "controller"} or voters != [self.node_id]:
            raise CannotStart(
                "process.roles must be broker,controller and controller.quorum.voters must name this node alone:"
                " clusters of several nodes arrive with replication."
            )

    # -- directories ----------------------------------------------------------------------------------------------------------

    def _open_directories(self) -> str:
        """Lock and identify every directory; the path of the one that holds the metadata log."""
        paths = log_directory_paths(self.settings)
        metadata_path = self.settings.text_or_none("metadata.log.dir")
        metadata_path = os.path.abspath(metadata_path) if metadata_path is not None else paths[0]
        for path in dict.fromkeys([*paths, metadata_path]):
            try:
                meta = read_meta_properties(self._disk, path) if self._disk.exists(path) else None
                if meta is None:
                    raise CannotStart(f"{path} is not formatted: run `barnabas storage format` first.")
                directory = LogDirectory(self._disk, path, meta.directory_id)
                directory.lock()
            except OSError as error:
                if path == metadata_path or len(paths) == 1:
                    raise
                self.log.error("log directory failed", directory=path, error=str(error))
                continue
            self._directories.append(directory)
            if meta.node_id != self.node_id:
                raise CannotStart(f"{path} belongs to node {meta.node_id}, but node.id is {self.node_id}.")
            if self.cluster_id and meta.cluster_id != self.cluster_id:
                raise CannotStart(f"{path} belongs to cluster {meta.cluster_id}, but the other directories to {self.cluster_id}.")
            self.cluster_id = meta.cluster_id
        identities = [directory.directory_id for directory in self._directories]
        if len(set(identities)) < len(identities):
            raise CannotStart("Two log directories have the same directory.id: one is a copy of the other.")
        return metadata_path

    def _take_clean_shutdown(self) -> tuple[bool, int]:
        marks = [directory.take_clean_shutdown() for directory in self._directories]
        clean = all(mark for mark, _ in marks)
        epochs = {epoch for _, epoch in marks}
        return clean, epochs.pop() if clean and len(epochs) == 1 else UNKNOWN_BROKER_EPOCH

    def _open_logs(self, *, clean: bool, now_ms: int) -> dict[TopicPartition, tuple[LogDirectory, FoundLog]]:
        """Open and recover what is there, before the metadata says what it is: recovery must not need it."""
        plain = EffectiveConfigs(self.settings, MetadataApplier(self.settings, self.node_id, self._fatal).image.configs, self.node_id)
        settings = LogSettings.from_topic_config(plain.topic(""))
        found: dict[TopicPartition, tuple[LogDirectory, FoundLog]] = {}
        for directory in self._directories:
            try:
                for log in directory.open_logs(lambda _: settings, clean=clean, now_ms=now_ms):
                    found[log.log.partition] = (directory, log)
                    if log.report.eventful:
                        self.log.info(
                            "log recovered",
                            partition=str(log.log.partition),
                            segments=log.report.segments_recovered,
                            bytes_truncated=log.report.bytes_truncated,
                            notes=log.report.notes,
                        )
            except OSError as error:
                if len(self._directories) == 1:
                    raise
                directory.fail(str(error))
                self.log.error("log directory failed", directory=directory.path, error=str(error))
        return found

    def _metadata_log_settings(self) -> LogSettings:
        return LogSettings(
            segment_bytes=self.settings.integer("metadata.log.segment.bytes"),
            segment_ms=self.settings.integer("metadata.log.segment.ms"),
        )

    def _directory_failed(self, directory: LogDirectory, error: OSError) -> None:
        self.log.error("log directory failed", directory=directory.path, error=str(error), partitions=len(directory.logs))
        if not any(each.online for each in self._directories) or (
            self._metadata_log is not None and self._metadata_log.directory.startswith(directory.path + "/")
        ):
            self._fatal(error)

    # -- metadata -------------------------------------------------------------------------------------------------------------

    def _deliver(self, applier: MetadataApplier, high_watermark: int) -> None:
        assert self._metadata_log is not None
        batches = list(self._metadata_log.batches(self._delivered, high_watermark))
        self._delivered = high_watermark
        applier.apply(batches)

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

    def _bind(self) -> dict[str, Listener]:
        controllers = {listener.name for listener in controller_listeners(self.settings)}
        bound = {}
        for address in listeners(self.settings):
            for_controllers = address.name in controllers
            handlers = CONTROLLER_HANDLERS if for_controllers else BROKER_HANDLERS
            listener = Listener(
                address.name,
                address.host,
                address.port,
                connection_limits(self.settings.values, self.settings.explicit),
                apis=frozenset(handlers),
                for_controllers=for_controllers,
                report=self._peer_refused,
            )
            bound[address.name] = listener
            self._listeners.append(listener)
        return bound

    def _create_listeners(self, bound: dict[str, Listener]) -> None:
        serve_clients = Dispatch(self.broker, BROKER_HANDLERS).serve
        serve_controllers = Dispatch(self.broker, CONTROLLER_HANDLERS).serve
        for listener in bound.values():
            listener.serve = serve_controllers if listener.for_controllers else serve_clients

    def _peer_refused(self, address: str, reason: str) -> None:
        self.log.info("connection refused", client=address, reason=reason)

    @staticmethod
    def _reachable(address: ListenerAddress, bound: dict[str, Listener]) -> tuple[str, int]:
        """What to tell others: port 0 became a real one when it was bound, and no host means this machine."""
        host = address.host or _own_name()
        listener = bound.get(address.name)
        return host, address.port or (listener.port if listener is not None else 0)

    def _registration(self, bound: dict[str, Listener], previous_epoch: int) -> BrokerRegistrationRequest:
        endpoints = []
        for address in advertised_listeners(self.settings):
            host, port = self._reachable(address, bound)
            endpoints.append(RegisteredListener(name=address.name, host=host, port=port, security_protocol=_PROTOCOL_PLAINTEXT))
        return BrokerRegistrationRequest(
            broker_id=self.node_id,
            cluster_id=self.cluster_id,
            incarnation_id=Uuid(random_uuid(self._entropy)),
            listeners=endpoints,
            features=[
                Feature(name=name, min_supported_version=levels.lowest, max_supported_version=levels.highest)
                for name, levels in SUPPORTED_FEATURES.items()
            ],
            rack=self.settings.text_or_none("broker.rack"),
            log_dirs=[directory.directory_id for directory in self._directories if directory.online],
            previous_broker_epoch=previous_epoch,
        )

    def _controller_registration(self, bound: dict[str, Listener]) -> ControllerRegistrationRequest:
        endpoints = []
        for address in advertised_controller_listeners(self.settings):
            host, port = self._reachable(address, bound)
            endpoints.append(ControllerListener(name=address.name, host=host, port=port, security_protocol=_PROTOCOL_PLAINTEXT))
        return ControllerRegistrationRequest(
            controller_id=self.node_id,
            incarnation_id=Uuid(random_uuid(self._entropy)),
            zk_migration_ready=False,
            listeners=endpoints,
            features=[
                ControllerFeature(name=name, min_supported_version=levels.lowest, max_supported_version=levels.highest)
                for name, levels in SUPPORTED_FEATURES.items()
            ],
        )

    def _bootstrap(self) -> str:
        bound = {listener.name: listener for listener in self._listeners}
        first = advertised_listeners(self.settings)[0]
        host, port = self._reachable(first, bound)
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

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
        for listener in self._listeners:
            listener.stop_accepting()
        if self.failure is None:
            await self._lifecycle.leave()
        for listener in self._listeners:
            listener.close()
        for stop in self._stops:
            stop()
        # Connections get one turn of the loop to send what is written.
        await asyncio.sleep(0)
        self._executor.shutdown(wait=True)
        if self.failure is None:
            assert self._metadata_log is not None
            self._metadata_log.close()
            for directory in self._directories:
                directory.close(broker_epoch=self._lifecycle.epoch)
        await self._undo()

    async def _undo(self) -> None:
        """Give back what a node holds of the outside world, however far it came."""
        if self._page is not None:
            self._page.close()
        for listener in self._listeners:
            listener.stop_accepting()
            listener.close()
        for directory in self._directories:
            directory.unlock()
        self._executor.shutdown(wait=False)

    def _fatal(self, error: BaseException) -> None:
        """The node cannot go on. Nothing more is written, so that the next start recovers from what is on disk."""
        if self.failure is None:
            self.failure = error
            self.log.error("node halts", error=str(error), exc_info=error)
            self.failed.set()
            if self._on_fatal is not None:
                self._on_fatal(error)


def log_directory_paths(settings: BrokerSettings) -> list[str]:
    paths = settings.strings("log.dirs") or (settings.text("log.dir"),)
    return [os.path.abspath(path) for path in paths]


def _own_name() -> str:
    return socket.getfqdn()
