"""The contexts that TLS connections are made from.

A context is never changed. A listener whose certificate is renewed gets a new context for its later
handshakes, and connections that exist keep theirs.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.config.cipher_suites import is_of_tls_1_3, openssl_name
from barnabas.config.tls import ClientAuth, TlsSettings
from barnabas.network.tls.stores import Stores, StoreUnreadable

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_VERIFY = {ClientAuth.NONE: ssl.CERT_NONE, ClientAuth.REQUESTED: ssl.CERT_OPTIONAL, ClientAuth.REQUIRED: ssl.CERT_REQUIRED}


def server_context(tls: TlsSettings, stores: Stores) -> ssl.SSLContext:
    """Raises :class:`StoreUnreadable` with a sentence for the user."""
    if stores.identity is None:
        raise StoreUnreadable("A listener with TLS needs a private key and a certificate: set ssl.keystore.location or ssl.keystore.key.")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _set_versions(context, tls)
    context.verify_mode = _VERIFY[tls.client_auth]
    _load(context, stores)
    # A resumed session would keep the identity of a certificate that may have been replaced.
    context.options |= ssl.OP_NO_TICKET
    # A renegotiation makes the server sign again, which costs the client nothing.
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0
    return context


def client_context(tls: TlsSettings, stores: Stores) -> ssl.SSLContext:
    """For this node's own connections. Raises :class:`StoreUnreadable`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = tls.checks_host_name
    context.verify_mode = ssl.CERT_REQUIRED
    _set_versions(context, tls)
    _load(context, stores)
    return context


def _load(context: ssl.SSLContext, stores: Stores) -> None:
    if stores.identity is not None:
        with _in_memory(stores.identity.key + stores.identity.chain) as path:
            context.load_cert_chain(path)
    if stores.trusted is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH if context.check_hostname else ssl.Purpose.CLIENT_AUTH)
    else:
        context.load_verify_locations(cadata=stores.trusted)


def _set_versions(context: ssl.SSLContext, tls: TlsSettings) -> None:
    chosen = sorted(_VERSIONS[each] for each in tls.versions)
    context.minimum_version, context.maximum_version = chosen[0], chosen[-1]
    if not tls.cipher_suites:
        return
    unknown = [each for each in tls.cipher_suites if openssl_name(each) is None]
    if unknown:
        raise StoreUnreadable(f"ssl.cipher.suites has {unknown[0]}, which is not the name of a cipher suite.")
    older = [str(openssl_name(each)) for each in tls.cipher_suites if not is_of_tls_1_3(each)]
    if not older:
        # OpenSSL always offers its own suites of TLS 1.3, which all are good ones.
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        return
    if len(older) == len(tls.cipher_suites):
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.set_ciphers(":".join(older))
    except ssl.SSLError as error:
        raise StoreUnreadable("ssl.cipher.suites has no suite that this machine's OpenSSL supports.") from error


@contextmanager
def _in_memory(data: bytes) -> Iterator[str]:
    """A path that OpenSSL can read, of memory that no other process can open by name."""
    descriptor = os.memfd_create("barnabas-identity", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, data)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
