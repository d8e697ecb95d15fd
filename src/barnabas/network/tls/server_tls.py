"""TLS of one listener: the context of its handshakes, and the principal of a client that showed a
certificate."""

from __future__ import annotations

import ssl
from typing import Any

from cryptography import x509

from barnabas.config.tls import TlsSettings
from barnabas.network.tls.contexts import server_context
from barnabas.network.tls.subjects import subject_name
from barnabas.security.principal import ANONYMOUS, Principal
from barnabas.security.principal_mapping import map_subject, parse_mapping_rules


class ServerTls:
    def __init__(self, settings: TlsSettings) -> None:
        """Raises ``StoreUnreadable``, or ``ValueError`` for rules that cannot be read."""
        self._rules = parse_mapping_rules(settings.mapping_rules)
        self.context: ssl.SSLContext = server_context(settings)

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
