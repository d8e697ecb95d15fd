"""Sessions that outlive the token of their person: a refresh token gets the next one.

Logins at clusters that were made with the old token are made again with the new one. A provider
that refuses ends the session, with a sentence for the next page.
"""

from __future__ import annotations

import asyncio
import time

from barnabas.console.access.identity_provider import renewed_identity
from barnabas.console.core.oidc import is_due
from barnabas.console.errors import ConsoleError, Forbidden, LoginNeeded
from barnabas.console.web.call import Call
from barnabas.console.web.sessions import Session


async def renew_identity(call: Call) -> None:
    """Raises :class:`LoginNeeded` when the session has ended."""
    session, settings = call.session, call.services.settings
    if session.identity is None or not is_due(session.identity.expires, time.time()):
        return
    async with session.refreshing:
        identity = session.identity
        # Another request of the session may have renewed it, or ended it, meanwhile.
        if identity is None or not is_due(identity.expires, time.time()):
            return
        if identity.refresh_token is None or settings.oidc is None:
            if identity.expires is not None and identity.expires < time.time():
                _end(call, session, "Your login has ended; please log in again.")
            return
        try:
            renewed = await asyncio.to_thread(renewed_identity, settings.oidc, identity)
        except ConsoleError as error:
            if not isinstance(error, Forbidden) and identity.expires is not None and identity.expires > time.time():
                # The provider is away, and the token is still good: the next request tries again.
                return
            _end(call, session, f"Your login has ended. {error.sentence}")
            return
        _forget_logins(call, session)
        session.identity = renewed
        call.services.log.info("console login renewed", principal=renewed.principal, address=call.address)


def _end(call: Call, session: Session, sentence: str) -> None:
    principal = session.identity.principal if session.identity is not None else None
    _forget_logins(call, session)
    session.identity = None
    session.notice(sentence)
    call.services.log.info("console login ended", principal=principal, address=call.address, reason=sentence)
    cluster = call.cluster_name or call.services.settings.clusters[0].name
    raise LoginNeeded(sentence, cluster)


def _forget_logins(call: Call, session: Session) -> None:
    """Connections of the old token are closed; brokers would do so at its end."""
    for name, login in session.logins.items():
        call.services.forget(call.services.cluster_settings(name), login)
    session.logins.clear()
