"""TLS of this node's connections to other nodes. All peers share one, so that a renewal reaches
each of them with its next connection."""

from __future__ import annotations

import ssl

from barnabas.config.tls import TlsSettings
from barnabas.network.tls.contexts import client_context
from barnabas.network.tls.stores import read_stores


class ClientTls:
    def __init__(self, settings: TlsSettings) -> None:
        """Raises ``StoreUnreadable``."""
        self.settings = settings
        self.stores = read_stores(settings)
        self.context: ssl.SSLContext = client_context(settings, self.stores)

    def replace_with(self, renewed: ClientTls) -> None:
        """For later connections."""
        self.settings, self.stores, self.context = renewed.settings, renewed.stores, renewed.context
