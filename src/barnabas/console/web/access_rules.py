"""Which requests may change something, and logins of programs.

- Every POST carries the token of its session, and comes from a page of the console if a browser
  says where it comes from. HTTP Basic credentials stand for both: no browser sends them by itself,
  because the console never asks for them.
- A change is refused in read-only mode, of the console or of the cluster.
- A change of a production cluster carries the name of the cluster.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from barnabas.console.access.user_login import login_of, try_login
from barnabas.console.errors import BadValue, Forbidden
from barnabas.console.limits import BASIC_LOGIN_SECONDS
from barnabas.console.web.call import Call
from barnabas.console.web.hosts import is_same_site
from barnabas.console.web.operation import CONFIRMATION
from barnabas.console.web.sessions import Session

TOKEN_HEADER: Final = "x-csrf-token"  # noqa: S105 - the name of a header
TOKEN_FIELD: Final = "csrf_token"  # noqa: S105 - the name of a field


def check_token(call: Call, given: Mapping[str, Any]) -> None:
    if call.basic_login is not None:
        return
    headers = call.request.headers
    if not is_same_site(headers.get("sec-fetch-site"), headers.get("origin"), headers.get("host", "")):
        raise Forbidden("The request comes from a page of another site.")
    token = headers.get(TOKEN_HEADER) or given.get(TOKEN_FIELD)
    if not isinstance(token, str) or not call.session.id or not call.services.signer.is_token(call.session.id, token):
        raise Forbidden("The request has no valid token: load the page again, or get a token from /api/session.")


def check_change(call: Call) -> None:
    settings = call.services.settings
    if settings.read_only:
        raise Forbidden("The console is read-only.")
    if not call.cluster_name:
        return
    cluster = call.services.cluster_settings(call.cluster_name)
    if cluster.read_only:
        raise Forbidden(f"The cluster {cluster.name} is read-only here.")
    if cluster.production and call.values.get(CONFIRMATION.name) != cluster.name:
        raise BadValue(f"{cluster.name} is a production cluster: type its name to confirm the change.", CONFIRMATION.name)


async def log_in_with_basic(call: Call) -> None:
    """A password goes to the cluster of the path, or to the first one where the path names none:
    never to the brokers of others. The session of a cookie does not count beside it."""
    given = call.request.headers.get("authorization", "")
    if not given.lower().startswith("basic "):
        return
    try:
        user, colon, password = base64.b64decode(given[6:], validate=True).decode("utf-8").partition(":")
    except (ValueError, binascii.Error):
        raise BadValue("The header Authorization cannot be read.") from None
    if not colon:
        raise BadValue("The header Authorization has no password.")
    cluster = call.services.cluster_settings(call.cluster_name or call.services.settings.clusters[0].name)
    login = login_of(cluster, user, password)
    await try_login(call.services, cluster, login, call.address, seconds=BASIC_LOGIN_SECONDS)
    call.basic_login, call.logins, call.session = login, {cluster.name: login}, Session("", 0.0, 0.0)
