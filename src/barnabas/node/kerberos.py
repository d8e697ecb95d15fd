"""GSSAPI as the settings of a listener ask for it, on both sides.

The JAAS entry is that of Java's Krb5LoginModule: ``keyTab`` and ``principal``, or ``ticketCache``
for a client. The Kerberos library comes with the extra ``barnabas[kerberos]``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from barnabas.config.sasl import SaslSettings
from barnabas.model.cannot_start import CannotStart
from barnabas.model.promise import Promise
from barnabas.network.peer_connection import Login, LoginFailed
from barnabas.node.sasl_services import SaslServices
from barnabas.security.sasl.exchange import ClientExchange, ServerExchange
from barnabas.security.sasl.gssapi import GssapiServer, GssFailure
from barnabas.security.sasl.jaas import LoginModule
from barnabas.security.sasl.kerberos_names import local_name, parse_name_rules

if TYPE_CHECKING:
    from barnabas.network.kerberos.contexts import KerberosIdentity

GSSAPI = "GSSAPI"


def kerberos_exchanges(sasl: SaslSettings, listener: str, login: LoginModule) -> Callable[[], ServerExchange]:
    """Raises ``CannotStart``."""
    _require_library(listener)
    from barnabas.network.kerberos.contexts import accept, realm_of

    identity = _identity(login)
    try:
        rules = parse_name_rules(sasl.strings("sasl.kerberos.principal.to.local.rules"))
    except ValueError as error:
        raise CannotStart(f"sasl.kerberos.principal.to.local.rules cannot be used: {error}.") from error
    try:
        realm = realm_of(identity)
    except GssFailure as error:
        raise CannotStart(f"the listener {listener} cannot use GSSAPI: {error}.") from error
    return partial(GssapiServer, partial(accept, identity), lambda principal: local_name(rules, principal, realm))


def kerberos_login(sasl: SaslSettings, listener: str, services: SaslServices, login: LoginModule) -> Login:
    """Raises ``CannotStart``."""
    _require_library(listener)
    from barnabas.network.kerberos.contexts import initiate

    identity = _identity(login)
    service = login.options.get("serviceName") or sasl.text("sasl.kerberos.service.name")
    if not service:
        raise CannotStart(f"this node logs in to {listener} with GSSAPI, so sasl.kerberos.service.name must be set.")

    def begin(host: str) -> ClientExchange | LoginFailed:
        try:
            return initiate(identity, service, host)
        except GssFailure as error:
            return LoginFailed(f"Kerberos gives this node no ticket for {service}@{host}: {error}")

    def exchange(host: str) -> Promise[ClientExchange | LoginFailed]:
        return services.logins.run(partial(begin, host))

    return Login(GSSAPI, exchange)


def _identity(login: LoginModule) -> KerberosIdentity:
    from barnabas.network.kerberos.contexts import KerberosIdentity

    options = login.options
    keytab = options.get("keyTab") if options.get("useKeyTab", "false").lower() == "true" else None
    return KerberosIdentity(options.get("principal"), keytab, options.get("ticketCache"))


def _require_library(listener: str) -> None:
    if find_spec("gssapi") is None:
        raise CannotStart(f"the listener {listener} uses GSSAPI, which needs the extra kerberos: pip install 'barnabas[kerberos]'.")
