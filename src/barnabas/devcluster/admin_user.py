"""The user ``admin`` of a secured development cluster, added after its start if it is absent.

A new cluster has no users of SCRAM, so this process logs in as a node does.
"""

from __future__ import annotations

import asyncio
from typing import Any

from barnabas.config.settings import BrokerSettings
from barnabas.devcluster.development import SECURE_LISTENER
from barnabas.devcluster.secure import ADMIN, ADMIN_MECHANISM
from barnabas.env.awaiting import awaited
from barnabas.env.clock import SystemClock
from barnabas.env.entropy import SystemEntropy
from barnabas.model.cannot_start import CannotStart
from barnabas.model.errors import ErrorCode
from barnabas.network.peers import Peer, Peers
from barnabas.node.sasl import client_login
from barnabas.node.sasl_services import SaslServices
from barnabas.node.tls import client_tls
from barnabas.security.sasl.scram_credentials import ITERATIONS_MIN
from barnabas.telemetry.logs import EventLog
from barnabas.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialUpsertion
from barnabas.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName

_REQUEST_TIMEOUT_MS = 10_000
# A controller that is elected right now answers within this time.
_ATTEMPTS_MAX = 30
_PAUSE_SECONDS = 0.5
_SALT_BYTES = 32


async def ensure_admin(settings: BrokerSettings, bootstrap: str, password: str) -> None:
    """``settings`` are those of a node, whose login is used. Raises ``CannotStart``."""
    host, _, port = bootstrap.split(",")[0].rpartition(":")
    entropy = SystemEntropy()
    services = SaslServices(SystemClock(), entropy, EventLog())
    login = client_login(settings, SECURE_LISTENER, "sasl.mechanism.inter.broker.protocol", services)
    peers = Peers("barnabas-up", tls=client_tls(settings, SECURE_LISTENER), login=login)
    try:
        broker = peers.at(host.strip("[]"), int(port))
        described = await _ask(broker, DescribeUserScramCredentialsRequest(users=[UserName(name=ADMIN)]))
        if any(each.mechanism == ADMIN_MECHANISM.number for found in described.results for each in found.credential_infos):
            return
        salt = entropy.bytes(_SALT_BYTES)
        credential = ScramCredentialUpsertion(
            name=ADMIN,
            mechanism=ADMIN_MECHANISM.number,
            iterations=ITERATIONS_MIN,
            salt=salt,
            salted_password=ADMIN_MECHANISM.salted(password, salt, ITERATIONS_MIN),
        )
        await _ask(broker, AlterUserScramCredentialsRequest(deletions=[], upsertions=[credential]))
    finally:
        peers.close()
        services.stop()


async def _ask(broker: Peer, request: Any) -> Any:
    problem = ""
    for _ in range(_ATTEMPTS_MAX):
        answer = await awaited(broker.send(request, timeout_ms=_REQUEST_TIMEOUT_MS))
        if isinstance(answer, ErrorCode):
            problem = answer.name
        else:
            # A user that does not exist is what a new cluster answers.
            failed = [each for each in answer.results if each.error_code not in (ErrorCode.NONE, ErrorCode.RESOURCE_NOT_FOUND)]
            if not failed:
                return answer
            problem = ErrorCode(failed[0].error_code).name
        await asyncio.sleep(_PAUSE_SECONDS)
    raise CannotStart(f"The user {ADMIN} could not be added: {problem}.")
