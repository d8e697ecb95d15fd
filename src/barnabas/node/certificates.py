"""The certificates that this node uses, renewed while it runs.

There are two ways to a renewal: a changed setting (``listener.name.<listener>.ssl.*`` of this
broker), and a changed file under settings that stay. Both read the stores, check that they may
replace the present ones, and then use them for later handshakes; connections that exist go on. If
anything is wrong, the present certificates stay.

==================  ================================================================================
changed setting     :meth:`NodeCertificates.why_unusable` checks it before it is accepted, and the
                    client gets the reason. :meth:`NodeCertificates.publish` uses it.
changed file        :meth:`NodeCertificates.look_at_files` runs at an interval. A file may be half
                    written, so it is read when two looks in a row found it the same. A failure is
                    logged once, and the file is read again when it has changed again.
==================  ================================================================================

The first image that a node sees is used without a check against the settings of its file: that was
made when the change was accepted, and the stores of the file may be long out of use.
"""

from __future__ import annotations

import asyncio
import datetime
import os
import ssl
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.config.keys import ConfigError
from barnabas.config.parse import refuse_unknown_listener
from barnabas.config.providers import Sources
from barnabas.config.settings import BrokerSettings
from barnabas.config.tls import TlsSettings, tls_settings
from barnabas.metadata.configs import ConfigResource, ResourceType
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.ids import NodeId
from barnabas.network.listener import Listener
from barnabas.telemetry.logs import EventLog

if TYPE_CHECKING:
    from barnabas.network.tls.client_tls import ClientTls
    from barnabas.network.tls.server_tls import ServerTls

# Certificates are renewed days before they expire, so seconds do not matter. A look is one call to
# the system for each file.
LOOK_SECONDS = 5.0

FileState = tuple[str, int, int, int]  # path, time of change, size, inode


class _Unusable(Exception):
    """The text is one sentence for the user."""


class ListenerCertificates:
    """All uses of one listener's settings: by the listener, and by connections to it in other
    nodes."""

    def __init__(self, name: str, servers: Sequence[ServerTls], clients: Sequence[ClientTls]) -> None:
        self.name = name
        self.servers = servers
        self.clients = clients
        # The states of the files that were read last, and of those that the last look found.
        self.files = self.files_seen = _files(self.settings)
        self.reported: str | None = None

    @property
    def settings(self) -> TlsSettings:
        return (self.servers or self.clients)[0].settings

    def renew(self, settings: BrokerSettings, *, use: bool, checked: bool = True) -> None:
        """Raises :class:`_Unusable`; then the present certificates stay. Without ``use`` this only
        checks; without ``checked`` the new certificates need not resemble the present ones."""
        from barnabas.network.tls.client_tls import ClientTls
        from barnabas.network.tls.compatibility import why_another_node, why_nodes_part
        from barnabas.network.tls.server_tls import ServerTls
        from barnabas.network.tls.stores import StoreUnreadable

        try:
            wanted = tls_settings(settings, self.name)
            # The states of the files come first: a file that changes while it is read is then seen
            # to have changed since.
            files = _files(wanted)
            new_servers = [ServerTls(wanted) for _ in self.servers]
            new_clients = [ClientTls(wanted) for _ in self.clients]
        except (StoreUnreadable, ConfigError, ValueError, ssl.SSLError) as error:
            raise _Unusable(f"The listener {self.name} cannot use TLS: {error}") from error
        if checked:
            new, old = (new_servers or new_clients)[0].stores, (self.servers or self.clients)[0].stores
            dn_may_change, san_may_change = settings.flag("ssl.allow.dn.changes"), settings.flag("ssl.allow.san.changes")
            problem = why_another_node(new, old, dn_may_change=dn_may_change, san_may_change=san_may_change)
            if problem is None and self.servers and self.clients:
                now = datetime.datetime.now(datetime.UTC)
                problem = why_nodes_part(new_servers[0], new_clients[0], self.servers[0], self.clients[0], now=now)
            if problem is not None:
                raise _Unusable(problem)
        if use:
            for new_server, server in zip(new_servers, self.servers, strict=True):
                server.replace_with(new_server)
            for new_client, client in zip(new_clients, self.clients, strict=True):
                client.replace_with(new_client)
            self.files, self.reported = files, None

    @property
    def valid_until(self) -> str | None:
        """When the certificate expires; None if this node shows none."""
        identity = (self.servers or self.clients)[0].stores.identity
        return None if identity is None else identity.certificate.not_valid_after_utc.isoformat()


class NodeCertificates:
    def __init__(
        self,
        settings: BrokerSettings,
        node_id: NodeId,
        log: EventLog,
        *,
        listeners: Sequence[Listener],
        clients: Sequence[tuple[str, ClientTls]],
        sources: Sources,
    ) -> None:
        """``clients`` are the listeners of other nodes that this one connects to. ``sources`` have
        the values of references in settings (``${file:...}``)."""
        self._sources = sources
        self._settings = settings
        self._own = ConfigResource(ResourceType.BROKER, str(node_id))
        self._log = log
        servers = [(listener.name, listener.tls) for listener in listeners if listener.tls is not None]
        names = dict.fromkeys([*(name for name, _ in servers), *(name for name, _ in clients)])
        self._in_use = [
            ListenerCertificates(name, [tls for each, tls in servers if each == name], [tls for each, tls in clients if each == name])
            for name in names
        ]
        self._has_published = False
        self._next_look: asyncio.TimerHandle | None = None

    # -- changed settings --------------------------------------------------------------------------

    def why_unusable(self, changed: EffectiveConfigs) -> str | None:
        """A sentence if this node could not use TLS with changed settings."""
        try:
            settings = changed.in_force(self._sources)
            for name in changed.changed_listeners:
                refuse_unknown_listener(name, settings)
            for each in self._in_use:
                if self._may_differ(each, settings):
                    each.renew(settings, use=False)
        except (_Unusable, ConfigError) as error:
            return str(error)
        return None

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        first, self._has_published = not self._has_published, True
        if not self._in_use or not (first or self._own in delta.configs.changed):
            return
        try:
            self._settings = effective.in_force(self._sources)
        except ConfigError as error:
            # The file that a reference names may be absent on this node alone.
            self._log.warning("certificates cannot be renewed, the present ones stay", reason=str(error))
            return
        for each in self._in_use:
            if self._may_differ(each, self._settings):
                self._renew(each, checked=not first)

    def _may_differ(self, each: ListenerCertificates, settings: BrokerSettings) -> bool:
        """Whether the settings, or the files that they name, are others than those in use."""
        if each.reported is not None:
            return True
        try:
            wanted = tls_settings(settings, each.name)
        except (ConfigError, ValueError):
            return True
        return wanted != each.settings or _files(wanted) != each.files

    # -- changed files -----------------------------------------------------------------------------

    def start(self) -> None:
        if any(each.files for each in self._in_use):
            self._next_look = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look_again)

    def stop(self) -> None:
        if self._next_look is not None:
            self._next_look.cancel()

    def _look_again(self) -> None:
        self.look_at_files()
        self.start()

    def look_at_files(self) -> None:
        for each in self._in_use:
            before, each.files_seen = each.files_seen, _files(each.settings)
            if each.files_seen == before != each.files:
                self._renew(each)

    def _renew(self, each: ListenerCertificates, *, checked: bool = True) -> None:
        try:
            each.renew(self._settings, use=True, checked=checked)
        except _Unusable as error:
            each.files = _files(each.settings)
            if str(error) != each.reported:
                each.reported = str(error)
                self._log.warning("certificates cannot be renewed, the present ones stay", listener=each.name, reason=str(error))
            return
        self._log.info("certificates renewed", listener=each.name, valid_until=each.valid_until)


def _files(tls: TlsSettings) -> tuple[FileState, ...]:
    """The states of the files of both stores. Renewal tools replace a file or the symbolic link to
    it, which changes the inode."""
    return tuple(_state(store.location) for store in (tls.keys, tls.trust) if store.location is not None)


def _state(path: str) -> FileState:
    try:
        found = os.stat(path)
    except OSError:
        return (path, 0, 0, 0)
    return (path, found.st_mtime_ns, found.st_size, found.st_ino)
