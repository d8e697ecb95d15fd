"""Logins at clusters for a person that an identity provider or a proxy has logged in.

- A cluster with OAUTHBEARER gets the token of the person.
- A cluster that the console has a login of its own for gives it a delegation token of the person
  (KIP-373): the console's principal needs the permission ``CreateTokens`` for the user.
- At any other cluster with logins the person logs in as one of its users.

In all three cases the broker sees the person, and not the console.
"""

from __future__ import annotations

import asyncio
import base64
from typing import Final

from barnabas.client_settings.bearer_token import TOKEN
from barnabas.client_settings.delegation_token import BY_TOKEN
from barnabas.console.access.refusals import refuse_error
from barnabas.console.errors import ConsoleError
from barnabas.console.limits import SESSION_SECONDS
from barnabas.console.settings import ClusterSettings
from barnabas.console.web.call import Call
from barnabas.console.web.sessions import Identity, Login
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest, CreateDelegationTokenResponse

# Tokens log in with SCRAM, at a cluster of another mechanism too.
_TOKEN_MECHANISM: Final = "SCRAM-SHA-512"  # noqa: S105 - the name of a mechanism


async def log_in_with_identity(call: Call, identity: Identity) -> None:
    """For the cluster of the path, or for all of them where the path names none."""
    named = call.services.settings.cluster(call.cluster_name)
    clusters = (named,) if named is not None else call.services.settings.clusters
    missing = [each for each in clusters if each.has_logins and each.name not in call.logins]
    await asyncio.gather(*(_log_in(call, each, identity, raises=named is not None) for each in missing))


async def _log_in(call: Call, cluster: ClusterSettings, identity: Identity, *, raises: bool) -> None:
    try:
        login = await _login(call, cluster, identity)
    except ConsoleError:
        if raises:
            raise
        return
    if login is None:
        return
    call.logins[cluster.name] = login
    if call.session.identity is identity:
        # Otherwise the person has logged out meanwhile, or another request has renewed the token.
        call.session.logins[cluster.name] = login


async def _login(call: Call, cluster: ClusterSettings, identity: Identity) -> Login | None:
    own = {name: value for name, value in cluster.properties.items() if not name.startswith("sasl.")}
    if cluster.mechanism == "OAUTHBEARER" and identity.token is not None:
        return Login(identity.principal, {**own, "sasl.mechanism": "OAUTHBEARER", TOKEN: identity.token})
    if not cluster.has_credentials:
        return None
    made = await _delegation_token(call, cluster, identity)
    return Login(
        identity.principal,
        {
            **own,
            "sasl.mechanism": cluster.mechanism if cluster.mechanism.startswith("SCRAM") else _TOKEN_MECHANISM,
            "sasl.username": made.token_id,
            "sasl.password": base64.b64encode(made.hmac).decode("ascii"),
            BY_TOKEN: "true",
        },
    )


async def _delegation_token(call: Call, cluster: ClusterSettings, identity: Identity) -> CreateDelegationTokenResponse:
    kind, _, name = identity.principal.partition(":")
    request = CreateDelegationTokenRequest(
        owner_principal_type=kind, owner_principal_name=name, renewers=[], max_lifetime_ms=int(SESSION_SECONDS * 1000)
    )
    response: CreateDelegationTokenResponse = await call.services.client(cluster, None).ask_any(request, is_change=True)
    refuse_error(response.error_code, None, f"The console cannot act as {identity.principal} at {cluster.name}")
    return response
