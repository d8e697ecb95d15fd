"""Contexts of the system's Kerberos library. Everything here may block: call it on a thread.

Credentials are acquired again for every context. The library reads the keytab each time, so a key
that was rotated is used at once; the ticket that a keytab was exchanged for is kept in memory until
it ends, so the KDC is asked once per ticket and not once per connection.
"""

from __future__ import annotations

import gssapi
from gssapi.raw.misc import GSSError

from barnabas.model.dataclass import dataclass
from barnabas.security.sasl.gssapi import GssapiClient, GssFailure

_KERBEROS = gssapi.MechType.kerberos


@dataclass(frozen=True, slots=True)
class KerberosIdentity:
    """This node's own. ``keytab`` None uses the system's default, or for a client the ticket cache
    of the user that the node runs as."""

    principal: str | None
    keytab: str | None
    ticket_cache: str | None = None


class Context:
    def __init__(self, context: gssapi.SecurityContext) -> None:
        self._context = context

    @property
    def complete(self) -> bool:
        return bool(self._context.complete)

    def step(self, token: bytes) -> bytes:
        try:
            return self._context.step(token) or b""
        except GSSError as error:
            raise GssFailure(_reason(error)) from error

    def wrap(self, message: bytes) -> bytes:
        try:
            return bytes(self._context.wrap(message, False).message)
        except GSSError as error:
            raise GssFailure(_reason(error)) from error

    def unwrap(self, token: bytes) -> bytes:
        try:
            return bytes(self._context.unwrap(token).message)
        except GSSError as error:
            raise GssFailure(_reason(error)) from error

    def initiator(self) -> str:
        try:
            return str(self._context.initiator_name)
        except GSSError as error:
            raise GssFailure(_reason(error)) from error


def accept(identity: KerberosIdentity) -> Context:
    """A context of the server. Raises :class:`GssFailure` when its key cannot be read."""
    try:
        store = {"keytab": f"FILE:{identity.keytab}"} if identity.keytab is not None else None
        key = gssapi.Credentials(name=_name(identity), usage="accept", mechs=[_KERBEROS], store=store)
        return Context(gssapi.SecurityContext(creds=key, usage="accept"))
    except GSSError as error:
        raise GssFailure(_reason(error)) from error


def initiate(identity: KerberosIdentity, service: str, host: str) -> GssapiClient:
    """A client that has its first token. Raises :class:`GssFailure`."""
    try:
        store: dict[str, str] = {}
        if identity.keytab is not None:
            store = {"client_keytab": f"FILE:{identity.keytab}", "ccache": f"MEMORY:barnabas-{identity.principal}"}
        elif identity.ticket_cache is not None:
            store = {"ccache": f"FILE:{identity.ticket_cache}"}
        own = gssapi.Credentials(name=_name(identity), usage="initiate", mechs=[_KERBEROS], store=store or None)
        target = gssapi.Name(f"{service}@{host}", gssapi.NameType.hostbased_service)
        flags = gssapi.RequirementFlag.mutual_authentication | gssapi.RequirementFlag.integrity
        context = Context(gssapi.SecurityContext(name=target, creds=own, usage="initiate", mech=_KERBEROS, flags=flags))
    except GSSError as error:
        raise GssFailure(_reason(error)) from error
    return GssapiClient(context, context.step(b""))


def realm_of(identity: KerberosIdentity) -> str:
    """The realm of this node's own principal: the default one, unless the principal names it.
    Raises :class:`GssFailure` when the keytab has no key for the principal."""
    try:
        store = {"keytab": f"FILE:{identity.keytab}"} if identity.keytab is not None else None
        name = str(gssapi.Credentials(name=_name(identity), usage="accept", mechs=[_KERBEROS], store=store).name)
    except GSSError as error:
        raise GssFailure(_reason(error)) from error
    return name.rpartition("@")[2]


def _name(identity: KerberosIdentity) -> gssapi.Name | None:
    return None if identity.principal is None else gssapi.Name(identity.principal, gssapi.NameType.kerberos_principal)


def _reason(error: GSSError) -> str:
    """The library's own words, on one line."""
    return " ".join(error.gen_message().split())
