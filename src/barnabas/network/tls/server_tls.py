"""TLS of one listener: the context of its handshakes, and the principal of a client that showed a
certificate.

A renewal replaces all of it at once. The principal of a connection is decided at its handshake, so
connections that exist keep theirs.
"""

from __future__ import annotations

import ssl
from typing import Any

from cryptography import x509

from barnabas.config.tls import TlsSettings
from barnabas.network.tls.contexts import server_context
from barnabas.network.tls.stores import read_stores
from barnabas.network.tls.subjects import subject_name
from barnabas.security.principal import ANONYMOUS, Principal
from barnabas.security.principal_mapping import map_subject, parse_mapping_rules


class ServerTls:
    def __init__(self, settings: TlsSettings) -> None:
        """Raises ``StoreUnreadable``, or ``ValueError`` for rules that cannot be read."""
        self.settings = settings
        self._rules = parse_mapping_rules(settings.mapping_rules)
        self.stores = read_stores(settings)
        self.context: ssl.SSLContext = server_context(settings, self.stores)

    def replace_with(self, renewed: ServerTls) -> None:
        """For later handshakes."""
        self.settings, self._rules, self.stores, self.context = renewed.settings, renewed._rules, renewed.stores, renewed.context

    def principal(self, ssl_object: Any) -> Principal | None:
        """None when no mapping rule names the client's certificate, which must not be let in."""
        certificate = ssl_object.getpeercert(binary_form=True) if ssl_object is not None else None
        if not certificate:
            return ANONYMOUS
        try:
            name = map_subject(self._rules, subject_name(x509.load_der_x509_certificate(certificate)))
        except ValueError:
            # OpenSSL accepted a certificate whose subject cannot be written as a name.
            return None
        return Principal("User", name) if name else None
