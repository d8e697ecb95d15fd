"""One instance of the registry: the topic, the election, the service and the HTTP server.

The instance that is elected fences the writer before it and reads what that one wrote. Only then it
answers writes itself; until then, and as a follower, it forwards them.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn

from barnabas.registry.app import RegistryApp
from barnabas.registry.core.election import Identity
from barnabas.registry.core.entries import Entry
from barnabas.registry.core.errors import RegistryError
from barnabas.registry.core.state import RegistryState
from barnabas.registry.election import Election
from barnabas.registry.forwarding import LeaderForwarding
from barnabas.registry.gate import KafkaGate
from barnabas.registry.schemas_topic import SchemasTopic
from barnabas.registry.service import RegistryService
from barnabas.telemetry.logs import EventLog


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    host: str = "127.0.0.1"
    port: int = 8081
    advertised_host: str | None = None
    """The host under which other instances reach this one; ``host`` if None."""
    topic: str = "_schemas"
    replicas: int = 3
    group_id: str = "schema-registry"
    leader_eligible: bool = True
    scheme: str = "http"
    certificate_file: str | None = None
    key_file: str | None = None
    trusted_file: str | None = None
    logins: bool = False
    """Whether callers must log in, as users of the cluster."""
    uses_acls: bool = True
    super_users: tuple[str, ...] = ()
    login_mechanism: str | None = None


class RegistryServer:
    def __init__(self, settings: RegistrySettings, clients: Mapping[str, str], log: EventLog, gate: KafkaGate | None = None) -> None:
        """``clients`` are librdkafka's settings for the way to the brokers."""
        self._settings = settings
        self._clients = clients
        self._log = log
        self._gate = gate
        self._server: uvicorn.Server | None = None
        self._leading: asyncio.Task[None] | None = None
        self._stop_asked = False
        self._ready: Callable[[], None] | None = None

    async def run(self, listening: socket.socket, ready: Callable[[], None] = lambda: None) -> None:
        """Returns when the server is stopped. ``ready`` is called once a leader is known, so that
        every request can be answered."""
        settings = self._settings
        self._loop = asyncio.get_running_loop()
        state = RegistryState()
        self._topic = SchemasTopic(settings.topic, self._clients, state.replay, replicas=settings.replicas)
        await self._topic.start()
        self._service = RegistryService(state, cluster_id=self._topic.cluster_id, group_id=settings.group_id)
        self._forwarding = LeaderForwarding(settings.trusted_file or True, self._gate.seal if self._gate is not None else None)
        self._election = Election(
            [each.strip() for each in self._clients["bootstrap.servers"].split(",")],
            self._clients,
            settings.group_id,
            Identity(settings.advertised_host or settings.host, settings.port, settings.scheme, settings.leader_eligible),
            self._elected,
        )
        if self._gate is not None:
            await self._gate.start()
        self._app = app = RegistryApp(self._service, self._gate, self._forwarding)
        app.failure = lambda: self._topic.failure
        self._election.start()
        self._server = _HttpServer(
            uvicorn.Config(
                app,
                ssl_certfile=settings.certificate_file,
                ssl_keyfile=settings.key_file,
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                # The headers of a proxy are a claim of the caller, and ACLs are about addresses.
                proxy_headers=False,
            )
        )
        self._ready = ready
        if self._stop_asked:
            self._server.should_exit = True
        await self._server.serve(sockets=[listening])
        await self._stop()

    def stop(self) -> None:
        self._stop_asked = True
        if self._server is not None:
            self._app.stop()
            self._server.should_exit = True

    async def _stop(self) -> None:
        led = self._service.is_leader
        self._leader_changed(None, False)
        if led:
            try:
                await self._topic.append_last_record()
            except RegistryError as error:
                self._log.warning("registry left the topic without a last record", topic=self._settings.topic, error=error.message)
        await asyncio.to_thread(self._election.stop)
        if self._gate is not None:
            self._gate.stop()
        await self._forwarding.close()
        self._service.stop()
        await self._topic.stop()

    # -- leadership --------------------------------------------------------------------------------

    def _elected(self, leader: Identity | None, mine: bool) -> None:
        self._loop.call_soon_threadsafe(self._leader_changed, leader, mine)

    def _leader_changed(self, leader: Identity | None, mine: bool) -> None:
        if not mine:
            if self._leading is not None:
                self._leading.cancel()
                self._leading = None
            self._service.lead(None)
        elif self._leading is None:
            self._leading = self._loop.create_task(self._begin_to_lead())
        self._forwarding.leader_url = leader.url if leader is not None and not mine else None
        self._app.leader_changed()
        if self._forwarding.leader_url is not None:
            self._announce()
        self._log.info("registry leader", leader=leader.url if leader is not None else None, this_instance=mine)

    async def _begin_to_lead(self) -> None:
        try:
            await self._topic.become_writer()
        except RegistryError as error:
            self._log.error("registry cannot write", topic=self._settings.topic, error=error.message)
            self._election.renounce()
            return
        self._service.lead(_Writer(self._topic, self._election))
        self._app.leader_changed()
        self._announce()

    def _announce(self) -> None:
        ready, self._ready = self._ready, None
        if ready is not None:
            ready()


class _HttpServer(uvicorn.Server):
    """Leaves signals to the process, which has more to stop than the server."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Writer:
    """Writes as the leader. After a failed write it gives the leadership up: another instance may
    be better connected, or has fenced this one."""

    def __init__(self, topic: SchemasTopic, election: Election) -> None:
        self._topic = topic
        self._election = election

    async def write(self, entries: Sequence[Entry]) -> None:
        await self._topic.write(entries)

    def give_up(self) -> None:
        self._election.renounce()
