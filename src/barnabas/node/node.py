"""A node: all parts together, started in order and stopped in the reverse order.

    lock and identify directories -> open logs -> quorum -> controller -> register -> publish
    -> listen -> unfenced, ready

A node with one role is the same with parts left out. Every node has the quorum: a node without a
vote is an observer. Anything that prevents a node from starting is a :class:`CannotStart` with one
sentence for the user.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas import __version__
from barnabas.api.broker import Broker
from barnabas.api.broker_apis import BROKER_HANDLERS
from barnabas.api.controller_handlers import CONTROLLER_HANDLERS
from barnabas.api.dispatch import EXEMPT_FROM_QUOTAS, Dispatch
from barnabas.config.broker_keys.own import DIAL_SILENT_NODES
from barnabas.config.listeners import controller_listener_name, inter_broker_listener_name
from barnabas.config.sasl import SaslSettings, uses_sasl
from barnabas.config.settings import BrokerSettings
from barnabas.controller.absent_brokers import AbsentBrokers
from barnabas.controller.broker_lifecycle import RegistrationRefused
from barnabas.controller.channel import ControllerChannel
from barnabas.controller.controller_registration import register_controller
from barnabas.controller.core.controller import Controller
from barnabas.controller.driver import ControllerDriver
from barnabas.env.awaiting import awaited
from barnabas.env.clock import Clock, SystemClock
from barnabas.env.config_sources import SystemSources
from barnabas.env.disk import Disk, disk_sentence
from barnabas.env.entropy import Entropy, SystemEntropy, random_uuid
from barnabas.env.real_disk import RealDisk
from barnabas.logcare.directories.node_directories import NodeDirectories, log_directory_paths
from barnabas.metadata.applier import MetadataApplier
from barnabas.model.cannot_start import CannotStart
from barnabas.model.compiled import is_compiled
from barnabas.model.dataclass import dataclass
from barnabas.model.ids import NodeId, Uuid
from barnabas.network.connection import ServeFrame
from barnabas.network.listener import AtLimit, Listener, PortTaken
from barnabas.network.peers import Peers
from barnabas.node.acl_publisher import AclPublisher
from barnabas.node.addresses import OwnAddresses
from barnabas.node.broker import BrokerRole
from barnabas.node.certificates import NodeCertificates
from barnabas.node.client_metrics import announced
from barnabas.node.connection_limits_publisher import ConnectionLimitsPublisher
from barnabas.node.format import FormatRefused, read_bootstrap
from barnabas.node.metrics import register_readings
from barnabas.node.pages import NodePages
from barnabas.node.quorum_events import QuorumEvents
from barnabas.node.quotas import QuotasPublisher, client_quotas, connection_rates
from barnabas.node.readiness import JOINING, OPENING_LOGS, STOPPING, Readiness
from barnabas.node.sasl_services import SaslServices
from barnabas.node.tls import client_tls
from barnabas.node_context import NodeContext
from barnabas.quorum.core.quorum_state import QuorumStateDamaged
from barnabas.quorum.delivery import MetadataDelivery
from barnabas.quorum.driver import QuorumDriver
from barnabas.quorum.identity import quorum_node
from barnabas.quorum.metadata_log import MetadataLog
from barnabas.quorum.snapshots import Snapshots
from barnabas.storage.log_directory import DirectoryLocked
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.meta_properties import MetaPropertiesDamaged
from barnabas.telemetry.logs import EventLog
from barnabas.telemetry.metrics import Metrics
from barnabas.wire.apis import ApiKey

if TYPE_CHECKING:
    from barnabas.network.peer_connection import Login
    from barnabas.network.tls.client_tls import ClientTls

# The threads only wait for the disk; the second lets a checkpoint pass a long flush.
DISK_THREADS = 2
# The metadata log has its own thread: every commit, heartbeats included, waits for its flush, and
# must not queue behind thousands of new partitions.
METADATA_DISK_THREADS = 1

_REFUSALS = (DirectoryLocked, PortTaken, FormatRefused, MetaPropertiesDamaged, QuorumStateDamaged, RegistrationRefused)


@dataclass(frozen=True, slots=True)
class Ready:
    """The result of a start."""

    bootstrap: str
    node_id: int
    cluster_id: str
    prometheus_port: int | None
    health_port: int | None = None


class Node:
    def __init__(
        self,
        settings: BrokerSettings,
        *,
        log: EventLog | None = None,
        disk: Disk | None = None,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        dial: Callable[..., Peers] = Peers,
        listen: Callable[..., Listener] = Listener,
        on_fatal: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Everything outside is a port: ``dial`` connects to other nodes, ``listen`` accepts."""
        self.settings = settings
        self.log = log or EventLog()
        self.metrics = Metrics()
        self.node_id = NodeId(settings.integer("node.id"))
        self._disk = disk or RealDisk()
        self._clock = clock or SystemClock()
        self._entropy = entropy or SystemEntropy()
        self._dial = dial
        self._listen = listen
        self._on_fatal = on_fatal
        self._executor = ThreadPoolExecutor(DISK_THREADS, thread_name_prefix="disk")
        self._metadata_executor = ThreadPoolExecutor(METADATA_DISK_THREADS, thread_name_prefix="metadata-disk")
        self._sasl = SaslServices(self._clock, self._entropy, self.log)
        self._directories = NodeDirectories(settings, self.node_id, self._disk, self.log)
        self._addresses: OwnAddresses | None = None
        self._readiness = Readiness(self.node_id, self._clock)
        self._pages = NodePages(settings, self.metrics, self._readiness, self.log)
        self._role: BrokerRole | None = None
        self._metadata_log: MetadataLog | None = None
        roles = settings.strings("process.roles")
        self._is_broker, self._is_controller = "broker" in roles, "controller" in roles
        self._registering: asyncio.Future[None] | None = None
        self._quorum: QuorumDriver
        self._stops: list[Callable[[], None]] = []
        self._client_tls: list[tuple[str, ClientTls]] = []
        self.failure: BaseException | None = None
        self.failed = asyncio.Event()
        self.cluster_id = ""
        self.broker: Broker

    # -- starting ----------------------------------------------------------------------------------

    async def start(self) -> Ready:
        try:
            return await self._start_or_fail()
        except BaseException as wrong:
            await self._undo()
            if isinstance(wrong, asyncio.CancelledError):
                self.log.info("node stopped before it was ready")
            if isinstance(wrong, _REFUSALS):
                raise CannotStart(str(wrong)) from wrong
            if isinstance(wrong, OSError):
                directories = ", ".join(log_directory_paths(self.settings))
                raise CannotStart(disk_sentence(f"cannot start with {directories}", wrong)) from wrong
            raise

    async def _start_or_fail(self) -> Ready:
        """Fails as soon as the disk fails under the metadata log.

        The failure happens in the background, and ``_start`` would wait forever for the offset
        that was not written.
        """
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
        settings, now_ms, started_ms = self.settings, self._clock.wall_ms(), self._clock.monotonic_ms()
        self._addresses = addresses = OwnAddresses(
            settings,
            for_clients=announced(settings),
            for_controllers=CONTROLLER_HANDLERS,
            report=self._peer_refused,
            at_limit=self._connections_at_limit,
            listen=self._listen,
        )
        quotas, rates = client_quotas(settings), connection_rates(settings)
        for listener in addresses:
            listener.rates = rates
        self._pages.open()
        directories = self._directories
        directories.open()
        self.cluster_id = directories.cluster_id
        self._log_start(addresses)
        self._readiness.identity = {**self._readiness.identity, "cluster_id": self.cluster_id}
        self._readiness.phase = OPENING_LOGS
        clean, previous_epoch = directories.take_clean_shutdown()
        opening_ms = self._clock.monotonic_ms()
        found = directories.open_logs(clean=clean, now_ms=now_ms)
        self.log.info(
            "logs opened",
            partitions=len(found.replicas),
            clean=clean,
            repaired=directories.repaired,
            bytes_truncated=directories.bytes_truncated,
            seconds=self._seconds_since(opening_ms),
        )

        self._metadata_log = metadata_log = MetadataLog(
            self._disk, directories.metadata_path, self._metadata_log_settings(), clean=clean, now_ms=now_ms
        )
        self._readiness.phase = JOINING
        self.log.info("node joins the metadata quorum", offset=metadata_log.end_offset)
        context = self._context()
        applier = MetadataApplier(settings, self.node_id, self._fatal)
        to_controllers = self._peers_on(controller_listener_name(settings), "sasl.mechanism.controller.protocol")
        to_brokers = self._peers_on(inter_broker_listener_name(settings), "sasl.mechanism.inter.broker.protocol")
        quorum = self._quorum = self._make_quorum(metadata_log, directories, addresses, to_controllers)
        controller = ControllerDriver(
            Controller(self.node_id, self.cluster_id, settings, self._entropy, quorum),
            quorum,
            applier,
            self._clock,
            read_bootstrap(self._disk, directories.metadata_path),
            quotas,
        )
        channel = ControllerChannel(
            self.node_id,
            quorum,
            to_controllers,
            self.log,
            local=controller if self._is_controller else None,
            timeout_ms=settings.integer("controller.socket.timeout.ms"),
            session_timeout_ms=settings.integer("broker.session.timeout.ms"),
        )
        role = self._role = BrokerRole(
            context, directories, found, applier, channel, quorum, to_brokers, addresses, quotas, previous_epoch=previous_epoch
        )
        self.broker = role.broker
        certificates = NodeCertificates(
            settings, self.node_id, self.log, listeners=addresses.all, clients=self._client_tls, sources=SystemSources()
        )
        self.broker.why_listeners_unusable = certificates.why_unusable
        applier.publishers = [
            AclPublisher(self.broker.access),
            ConnectionLimitsPublisher(addresses.all),
            certificates,
            QuotasPublisher(quotas, rates, addresses.all, self.log, node_id=self.node_id),
            *(role.publishers if self._is_broker else []),
        ]
        snapshots = Snapshots(metadata_log, applier, quorum, settings, self._clock, self._executor, self.metrics, self._fatal)
        delivery = MetadataDelivery(metadata_log, applier, snapshots)
        self._serve(addresses, controller)
        await self._sasl.start()
        self._stops = [
            certificates.stop,
            controller.stop,
            role.stop,
            applier.stop,
            channel.close,
            snapshots.stop,
            quorum.close,
            to_controllers.close,
            to_brokers.close,
        ]

        certificates.start()
        delivery.begin()
        absent_brokers = None
        if settings.flag(DIAL_SILENT_NODES):
            absent_brokers = AbsentBrokers(controller, to_controllers, self.log, node_id=self.node_id)
            controller.on_heartbeat = absent_brokers.heard
            self._stops.append(absent_brokers.stop)
        quorum.start(QuorumEvents(delivery, controller, channel, quorum, absent_brokers, self.log, self._fatal))
        for listener in addresses:
            if listener.for_controllers:
                listener.start()
        if self._is_controller:
            registration = addresses.controller_registration(self.node_id, Uuid(random_uuid(self._entropy)))
            self._registering = asyncio.ensure_future(register_controller(registration, channel))
        if self._is_broker:
            await role.catch_up()
            # A controller that dies after it unfenced this broker leaves it without an answer. The
            # next controller dials the broker, and must not take it for one that is gone.
            for listener in addresses:
                listener.listen()
            await role.become_active()
        else:
            applier.publish_from(0)
            await awaited(applier.caught_up)
        for listener in addresses:
            if not listener.for_controllers:
                listener.start()
        register_readings(self.metrics, self.broker, quorum, applier, addresses.all)
        if self._is_broker and self._pages.prometheus_port is not None:
            from barnabas.node.group_lag import GroupLag

            lag = GroupLag(context, self.broker)
            lag.start()
            self._stops.insert(0, lag.stop)
        self._readiness.watch(quorum, applier, directories, broker_epoch=(lambda: role.lifecycle.epoch) if self._is_broker else None)
        snapshots.start()
        controller.keep_log_moving(settings.integer("metadata.max.idle.interval.ms"))
        self._readiness.phase = None
        self.log.info("node ready", bootstrap=addresses.bootstrap, seconds=self._seconds_since(started_ms))
        return Ready(addresses.bootstrap, self.node_id, self.cluster_id, self._pages.prometheus_port, self._pages.health_port)

    def _peers_on(self, listener: str, mechanism_key: str) -> Peers:
        """The other nodes, as they are reached on a listener of this name."""
        tls = client_tls(self.settings, listener)
        if tls is not None:
            self._client_tls.append((listener, tls))
        return self._dial(
            f"node-{self.node_id}",
            report=self._peer_failed,
            setup_timeout_ms=self.settings.integer("socket.connection.setup.timeout.ms"),
            tls=tls,
            login=self._login_on(listener, mechanism_key),
        )

    def _login_on(self, listener: str, mechanism_key: str) -> Login | None:
        """How this node logs in to other nodes; None on a listener without SASL."""
        if not uses_sasl(self.settings, listener):
            return None
        # Only a node with SASL loads its mechanisms.
        from barnabas.node.sasl import client_login

        return client_login(self.settings, listener, mechanism_key, self._sasl)

    def _log_start(self, addresses: OwnAddresses) -> None:
        self.log.info(
            "node starts",
            version=__version__,
            record_scanner="compiled" if is_compiled() else "python",
            cluster_id=self.cluster_id,
            roles=list(self.settings.strings("process.roles")),
            listeners=[f"{each.name}://{each.host}:{each.port}" for each in addresses],
            directories=[directory.path for directory in self._directories],
        )

    def _seconds_since(self, monotonic_ms: int) -> float:
        return (self._clock.monotonic_ms() - monotonic_ms) / 1000

    def _context(self) -> NodeContext:
        return NodeContext(
            settings=self.settings,
            node_id=self.node_id,
            cluster_id=self.cluster_id,
            disk=self._disk,
            clock=self._clock,
            entropy=self._entropy,
            executor=self._executor,
            metrics=self.metrics,
            log=self.log,
            fatal=self._fatal,
        )

    def _make_quorum(self, log: MetadataLog, directories: NodeDirectories, addresses: OwnAddresses, peers: Peers) -> QuorumDriver:
        core = quorum_node(
            self.settings,
            log.read_quorum_state(),
            self._entropy,
            cluster_id=self.cluster_id,
            directory_id=directories.metadata_directory_id,
            endpoints=addresses.for_controllers(),
        )
        dials = self.settings.flag(DIAL_SILENT_NODES)
        return QuorumDriver(core, log, peers, self._clock, self._metadata_executor, dials_leader=dials)

    def _metadata_log_settings(self) -> LogSettings:
        return LogSettings(
            segment_bytes=self.settings.integer("metadata.log.segment.bytes"),
            segment_ms=self.settings.integer("metadata.log.segment.ms"),
        )

    # -- network -----------------------------------------------------------------------------------

    def _serve(self, addresses: OwnAddresses, controller: ControllerDriver) -> None:
        """A controller's listener forwards nothing: its clients want this controller, or the
        error that it is not the active one."""
        serve_clients = Dispatch(self.broker, BROKER_HANDLERS).serve
        # A fetch from a controller is a fetch of metadata, by a node.
        exempt = EXEMPT_FROM_QUOTAS | {ApiKey.FETCH}
        serve_controllers = Dispatch(replace(self.broker, controller=controller), CONTROLLER_HANDLERS, exempt).serve
        for listener in addresses:
            serve = serve_controllers if listener.for_controllers else serve_clients
            listener.serve = self._authenticated(listener, serve)

    def _authenticated(self, listener: Listener, serve: ServeFrame) -> ServeFrame:
        """``serve``, after authentication where the listener asks for it."""
        settings = self.settings
        if not uses_sasl(settings, listener.name):
            return serve
        from barnabas.api.authentication import Authentication
        from barnabas.node.sasl import server_mechanisms

        mechanisms = server_mechanisms(settings, listener.name, self.broker.metadata, self._entropy, self._sasl)
        listener.first_request_bytes_max = SaslSettings(settings, listener.name).receive_bytes_max
        delay_ms = settings.integer("connection.failed.authentication.delay.ms")
        return Authentication(
            lambda: mechanisms, serve, self._clock, self.log, self._sasl.exchanges, self.metrics, failed_delay_ms=delay_ms
        ).serve

    def _peer_failed(self, address: str, reason: str) -> None:
        self.log.info("connection failed", peer=address, reason=reason)
        if self._role is not None and self.settings.flag(DIAL_SILENT_NODES):
            self._role.doubted_brokers.connection_lost(address)

    def _peer_refused(self, address: str, reason: str) -> None:
        self.log.info("connection refused", client=address, reason=reason)

    def _connections_at_limit(self, said: AtLimit) -> None:
        self.log.warning(
            "connections at their limit",
            listener=said.listener,
            limit=said.limit,
            connections_max=said.connections_max,
            closed=said.closed,
            advice=said.advice,
        )

    # -- stopping ----------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Clean shutdown: accept no work, write everything, and mark the clean shutdown last."""
        started_ms = self._clock.monotonic_ms()
        self.log.info("node stops")
        self._readiness.phase = STOPPING
        role = self._role
        assert role is not None
        assert self._addresses is not None
        for listener in self._addresses:
            # The other voters must reach this controller until one of them leads: they ask it for
            # its vote.
            if not listener.for_controllers:
                listener.stop_accepting()
        if self.failure is None:
            if self._is_broker:
                await role.leave()
            await awaited(self._quorum.stop())
        for listener in self._addresses:
            listener.close()
        for stop in self._stops:
            stop()
        self._stops = []
        # Give connections one turn of the loop to send their last responses.
        await asyncio.sleep(0)
        for executor in (self._metadata_executor, self._executor):
            executor.shutdown(wait=True)
        clean = self.failure is None
        if clean:
            assert self._metadata_log is not None
            try:
                self._metadata_log.close()
                self._directories.close(broker_epoch=role.lifecycle.epoch)
            except OSError as error:
                # The disk may be full. Without the mark of a clean shutdown the next start
                # recovers.
                clean = False
                self.log.error("node could not be stopped cleanly", error=str(error))
        await self._undo()
        self.log.info("node stopped", clean=clean, seconds=self._seconds_since(started_ms))

    async def _undo(self) -> None:
        """Release ports, files and threads, at any stage of the start."""
        self._pages.close()
        if self._registering is not None:
            self._registering.cancel()
        for stop in self._stops:
            stop()
        self._stops = []
        if self._addresses is not None:
            self._addresses.close()
        self._directories.unlock()
        self._sasl.stop()
        for executor in (self._metadata_executor, self._executor):
            executor.shutdown(wait=False)

    def _fatal(self, error: BaseException) -> None:
        """Halt the node. It writes nothing more, so that the next start recovers from the disk."""
        if self.failure is None:
            self.failure = error
            self.log.error("node halts", error=str(error), exc_info=error)
            self.failed.set()
            if self._on_fatal is not None:
                self._on_fatal(error)
