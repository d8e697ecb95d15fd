"""TLS as the settings of this node ask for it, with a sentence when it cannot be used.

The library for certificates is loaded only by a node that uses TLS: it would double the time that
another one takes to start.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from barnabas.config.listeners import Listener, security_protocols
from barnabas.config.settings import BrokerSettings
from barnabas.config.tls import tls_settings
from barnabas.model.cannot_start import CannotStart

if TYPE_CHECKING:
    from barnabas.network.tls.client_tls import ClientTls
    from barnabas.network.tls.server_tls import ServerTls

WITH_TLS = frozenset({"SSL", "SASL_SSL"})


def server_tls(settings: BrokerSettings, listener: Listener) -> ServerTls | None:
    """None for a listener without TLS. Raises ``CannotStart``."""
    if listener.protocol not in WITH_TLS:
        return None
    from barnabas.network.tls.server_tls import ServerTls
    from barnabas.network.tls.stores import StoreUnreadable

    try:
        return ServerTls(tls_settings(settings, listener.name))
    except (StoreUnreadable, ValueError, ssl.SSLError) as error:
        raise CannotStart(f"the listener {listener.name} cannot use TLS: {error}") from error


def client_tls(settings: BrokerSettings, listener: str) -> ClientTls | None:
    """For connections to other nodes on a listener of this name; None if it has no TLS. Raises
    ``CannotStart``."""
    if security_protocols(settings).get(listener) not in WITH_TLS:
        return None
    from barnabas.network.tls.client_tls import ClientTls
    from barnabas.network.tls.stores import StoreUnreadable

    try:
        return ClientTls(tls_settings(settings, listener))
    except (StoreUnreadable, ssl.SSLError) as error:
        raise CannotStart(f"connections to other nodes on {listener} cannot use TLS: {error}") from error
