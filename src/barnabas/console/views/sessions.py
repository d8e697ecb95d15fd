"""Logins and logouts with users of the cluster, the token of a session, and the audit log."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response

from barnabas.console.access.identity_provider import endpoints_of, identity_of_code
from barnabas.console.access.user_login import CREDENTIAL_CHARACTERS_MAX, login_of, try_login
from barnabas.console.core.oidc import authorization_address
from barnabas.console.errors import Busy, Forbidden, LoginNeeded, NotFound
from barnabas.console.settings import LoginMode, OidcSettings
from barnabas.console.web.audit import AuditEntry
from barnabas.console.web.call import Call
from barnabas.console.web.operation import Changed, Operation, view
from barnabas.console.web.parameters import Parameter
from barnabas.console.web.sessions import PendingLogin

_SECRET_BYTES: Final = 32
_SEE_OTHER: Final = 303


@dataclass(frozen=True, slots=True)
class LoginForm:
    cluster: str
    next: str
    """The page that wanted the login."""
    user: str
    error: str | None
    choices: list[str]
    """Clusters that have logins with a password."""
    provider: str | None
    """The identity provider to log in at, if there is one."""


@dataclass(frozen=True, slots=True)
class SessionView:
    csrf_token: str
    principals: dict[str, str]
    """The principal of each cluster that this session is logged in at."""


@dataclass(frozen=True, slots=True)
class AuditView:
    entries: list[AuditEntry]
    file: str | None


async def login_form(call: Call) -> LoginForm:
    return _form(call, None)


async def log_in(call: Call) -> LoginForm | Changed:
    cluster = call.services.cluster_settings(call.text("cluster"))
    try:
        login = login_of(cluster, call.text("user"), call.text("password"))
        await try_login(call.services, cluster, login, call.address)
    except (LoginNeeded, Busy) as error:
        if call.as_json:
            raise
        return _form(call, error.sentence)
    await _renew_session(call)
    call.session.logins[cluster.name] = login
    call.services.log.info("console login", cluster=cluster.name, principal=login.principal, address=call.address)
    return Changed(f"You are logged in at {cluster.name} as {login.principal}.", local_page(call.text("next")))


async def log_out(call: Call) -> Changed:
    for name, login in call.session.logins.items():
        call.services.forget(call.services.cluster_settings(name), login)
    call.session.logins.clear()
    call.session.identity = None
    call.session = call.services.sessions.renew(call.session)
    return Changed("You are logged out.", "/clusters")


async def _renew_session(call: Call) -> None:
    # A request that began before may be renewing the token of the identity, and a refresh token may
    # be good for one use only.
    async with call.session.refreshing:
        call.session = call.services.sessions.renew(call.session)


async def begin_oidc(call: Call) -> Response:
    """Leads to the identity provider. The state ties its answer to this session."""
    settings = _oidc(call)
    endpoints = await asyncio.to_thread(endpoints_of, settings)
    state, nonce, verifier = (secrets.token_urlsafe(_SECRET_BYTES) for _ in range(3))
    call.session.pending = PendingLogin(state, nonce, verifier, local_page(call.text("next")))
    return RedirectResponse(authorization_address(settings, endpoints, state=state, nonce=nonce, verifier=verifier), _SEE_OTHER)


async def finish_oidc(call: Call) -> Changed:
    settings, pending = _oidc(call), call.session.pending
    call.session.pending = None
    if pending is None or not hmac.compare_digest(call.text("state").encode(), pending.state.encode()):
        raise Forbidden("This login did not begin here; please log in again.")
    if not call.text("code"):
        raise Forbidden(f"The identity provider refuses the login: {call.text('error') or 'no reason'}.")
    identity = await asyncio.to_thread(identity_of_code, settings, call.text("code"), pending)
    await _renew_session(call)
    call.session.identity = identity
    call.session.logins.clear()
    call.services.log.info("console login", principal=identity.principal, address=call.address, provider=settings.issuer)
    return Changed(f"You are logged in as {identity.principal}.", pending.next)


def _oidc(call: Call) -> OidcSettings:
    settings = call.services.settings
    if settings.login is not LoginMode.OIDC or settings.oidc is None:
        raise NotFound("The console has no identity provider.")
    return settings.oidc


async def session_view(call: Call) -> SessionView:
    principals = {name: login.principal for name, login in call.logins.items()}
    return SessionView(call.services.signer.token(call.session.id) if call.session.id else "", principals)


async def audit_view(call: Call) -> AuditView:
    """Each person sees the changes at clusters that the person is logged in at."""
    services = call.services

    def may_see(cluster: str) -> bool:
        found = services.settings.cluster(cluster)
        is_open = found is not None and not found.has_logins and call.session.identity is not None
        return found is None or is_open or not services.settings.needs_login(found) or cluster in call.logins

    seen = [each for each in services.audit.latest if may_see(each.cluster)]
    return AuditView(seen, services.settings.audit_file)


def local_page(address: str) -> str:
    """The address, if it is one of the console: a link to a login must not lead elsewhere."""
    is_local = address.startswith("/") and not address.startswith("//") and "\\" not in address and address.isprintable()
    return address if is_local and not address.startswith("/login") else "/clusters"


def _form(call: Call, error: str | None) -> LoginForm:
    choices = [each.name for each in call.services.settings.clusters if each.has_passwords]
    cluster = call.text("cluster") or (choices[0] if choices else "")
    oidc = call.services.settings.oidc if call.services.settings.login is LoginMode.OIDC else None
    provider = urlsplit(oidc.issuer).hostname if oidc is not None else None
    return LoginForm(cluster, local_page(call.text("next")), call.text("user"), error, choices, provider)


_CLUSTER: Final = Parameter("cluster", "The cluster to log in at.")
_NEXT: Final = Parameter("next", "The page to show after the login.", maximum=4_000)
_USER: Final = Parameter("user", "A user of the cluster.", maximum=CREDENTIAL_CHARACTERS_MAX)
_PASSWORD: Final = Parameter("password", "The password of the user.", maximum=CREDENTIAL_CHARACTERS_MAX, secret=True)


OPERATIONS: Final = (
    replace(
        view("login_form", "/login", login_form, summary="The form of a login.", page="login.html", parameters=(_CLUSTER, _NEXT, _USER)),
        needs_session=False,
    ),
    Operation(
        "log_in",
        "POST",
        "/login",
        log_in,
        "Log in as a user of a cluster.",
        "login.html",
        (_CLUSTER, _NEXT, _USER, _PASSWORD),
        needs_session=False,
    ),
    replace(
        view("begin_oidc", "/login/oidc", begin_oidc, summary="Leads to the identity provider.", page="login.html", parameters=(_NEXT,)),
        needs_session=False,
    ),
    replace(
        view(
            "finish_oidc",
            "/login/callback",
            finish_oidc,
            summary="The answer of the identity provider.",
            page="login.html",
            parameters=(
                Parameter("code", "The code of the login.", maximum=10_000),
                Parameter("state", "The state of the login.", default=""),
                Parameter("error", "Why there is no code.", default=""),
            ),
        ),
        needs_session=False,
    ),
    Operation("log_out", "POST", "/logout", log_out, "End all logins of the session.", needs_session=False),
    replace(view("session", "/session", session_view, summary="The token and the principals of the session."), needs_session=False),
    view("audit", "/audit", audit_view, summary="The latest changes that were asked for.", page="audit.html"),
)
