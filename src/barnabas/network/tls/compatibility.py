"""Whether a new certificate may take the place of the one in use.

Clients and other nodes know a node by the names in its certificate. A renewal with another subject,
or without one of the host names, is usually the wrong file. So it is refused unless
``ssl.allow.dn.changes`` or ``ssl.allow.san.changes`` permits it.

Nodes do not change their certificates in the same moment. Between nodes the new certificate must
therefore be trusted by the old trust store and the old certificate by the new one. A new authority
is introduced in two steps: first it is trusted everywhere, then it signs.
"""

from __future__ import annotations

import datetime
import ssl

from cryptography import x509

from barnabas.network.tls.client_tls import ClientTls
from barnabas.network.tls.server_tls import ServerTls
from barnabas.network.tls.stores import Identity, Stores
from barnabas.network.tls.subjects import subject_name

# A handshake takes two or three flights of each side.
_FLIGHTS_MAX = 10


def why_another_node(new: Stores, old: Stores, *, dn_may_change: bool, san_may_change: bool) -> str | None:
    """A sentence if the new certificate names another node than the old one."""
    if new.identity is None or old.identity is None:
        return None
    subjects = [subject_name(each.identity.certificate) for each in (old, new) if each.identity is not None]
    if not dn_may_change and subjects[0] != subjects[1]:
        return f"The new certificate has the subject {subjects[1]}, the present one {subjects[0]}; ssl.allow.dn.changes permits it."
    missing = _alternative_names(old.identity) - _alternative_names(new.identity)
    if not san_may_change and missing:
        return f"The new certificate does not name {', '.join(sorted(missing))}; ssl.allow.san.changes permits it."
    return None


def why_nodes_part(
    new_server: ServerTls, new_client: ClientTls, old_server: ServerTls, old_client: ClientTls, *, now: datetime.datetime
) -> str | None:
    """A sentence if a node with the old stores and one with the new ones could not connect."""
    meetings = [("nodes with the new stores cannot connect to each other", new_server, new_client)]
    old = old_server.stores.identity
    # After its certificate has expired a node connects to none, and only a renewal helps.
    if old is not None and old.certificate.not_valid_after_utc > now:
        meetings += [
            ("a node with the new stores cannot connect to one with the present stores", old_server, new_client),
            ("a node with the present stores cannot connect to one with the new stores", new_server, old_client),
        ]
    for consequence, server, client in meetings:
        reason = _handshake_failure(server.context, client.context)
        if reason is not None:
            return f"With this change {consequence}: {reason}."
    return None


def _handshake_failure(server_context: ssl.SSLContext, client_context: ssl.SSLContext) -> str | None:
    """The reason why a handshake in memory fails. Host names are not checked: the certificate may
    name others than the one that this node would use for itself."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    checks_host_name, client_context.check_hostname = client_context.check_hostname, False
    try:
        client = client_context.wrap_bio(to_client, to_server)
        server = server_context.wrap_bio(to_server, to_client, server_side=True)
        pending = [client, server]
        for _ in range(_FLIGHTS_MAX):
            for side in list(pending):
                try:
                    side.do_handshake()
                    pending.remove(side)
                except ssl.SSLWantReadError:
                    pass
            if not pending:
                return None
    except ssl.SSLError as error:
        return (error.reason or "the handshake fails").replace("_", " ").lower()
    finally:
        client_context.check_hostname = checks_host_name
    return "the handshake does not end"


def _alternative_names(identity: Identity) -> frozenset[str]:
    try:
        names = identity.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    return frozenset(str(each.value) for each in names)
