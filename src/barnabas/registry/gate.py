"""Authentication and authorisation of callers, both by the Kafka cluster.

The registry has no users of its own. A name and a password (HTTP Basic), or a token (Bearer), are
tried at a broker: a user that can log in there can log in here, by the mechanism that the
registry's own client uses or that is named. A successful login is remembered for a while, a failed
one is not, so that guessing is as slow as at the broker.

Permissions are the cluster's ACLs, which are fetched again and again
(:mod:`~barnabas.registry.core.permissions`).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import time
from base64 import b64decode, urlsafe_b64decode
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from barnabas.client_settings.bearer_token import TOKEN
from barnabas.direct_requests.broker_connection import BrokerConnection
from barnabas.direct_requests.errors import RequestRefused
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.registry.caller_address import AddressSeal, address_of
from barnabas.registry.core.errors import RegistryError
from barnabas.registry.core.permissions import about, need_of
from barnabas.registry.http import Call
from barnabas.registry.routes import Route
from barnabas.security.acls.acl import Acl, Operation, PatternType, Permission, ResourceType
from barnabas.security.acls.authorizer import Authorizer
from barnabas.security.principal import Principal
from barnabas.telemetry.logs import EventLog
from barnabas.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

# A password that was changed at the cluster is accepted here for this long at most.
LOGIN_SECONDS: Final = 60.0
LOGINS_KEPT_MAX: Final = 10_000
# Logins under way at once. Each waits for a broker; more callers wait for their turn.
LOGINS_AT_ONCE_MAX: Final = 16
ACLS_SECONDS: Final = 5.0
ANSWER_SECONDS_MAX: Final = 15.0


class KafkaGate:
    def __init__(
        self,
        addresses: Sequence[str],
        properties: Mapping[str, str],
        log: EventLog,
        *,
        super_users: Sequence[str] = (),
        mechanism: str | None = None,
        uses_acls: bool = True,
    ) -> None:
        """``properties`` are those of the registry's own client; callers log in with their own name
        and password in its place."""
        self._addresses = addresses
        self._properties = properties
        self._log = log
        self._super_users = super_users
        self._mechanism = mechanism or properties.get("sasl.mechanism") or properties.get("sasl.mechanisms") or "PLAIN"
        self._uses_acls = uses_acls
        self.seal = AddressSeal.of(properties)
        """None if the instances have no secret in common."""
        self._authorizer: Authorizer | None = None
        self._logins: OrderedDict[bytes, tuple[float, Principal]] = OrderedDict()
        # Passwords are remembered only as digests, keyed so that a dump of memory is no use.
        self._digest_key = secrets.token_bytes(32)
        self._turns = asyncio.Semaphore(LOGINS_AT_ONCE_MAX)
        self._refreshing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Raises a RegistryError if the ACLs cannot be read."""
        if self._uses_acls:
            self._authorizer = await asyncio.to_thread(self._read_acls)
            self._refreshing = asyncio.create_task(self._refresh())

    def stop(self) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()

    async def admit(self, call: Call, route: Route) -> None:
        principal = await self._logged_in(call)
        call.principal = str(principal)
        authorizer = self._authorizer
        if authorizer is None:
            return
        sealed = self.seal.opened(call.request) if self.seal is not None else None
        host = sealed or address_of(call.request)

        def may(subject: str) -> bool:
            need = about(subject, Operation.DESCRIBE)
            return authorizer.may(principal, host, need.operation, need.resource)

        call.may_describe = may
        arguments = dict(call.arguments)
        if "subject" in arguments and not arguments["subject"].startswith(":."):
            arguments["subject"] = call.context + arguments["subject"]
        need = need_of(call.method, route.template, arguments)
        allowed = need is None or authorizer.may(principal, host, need.operation, need.resource)
        if not allowed:
            assert need is not None
            self._log.info(
                "registry request denied",
                principal=call.principal,
                host=host,
                method=call.method,
                path=route.template,
                operation=need.operation.name,
                resource=f"{need.resource.type.name}:{need.resource.name}",
            )
            raise RegistryError(403, f"{need.operation.name} of {need.resource.type.name.lower()} {need.resource.name} is denied.")

    # -- logins ------------------------------------------------------------------------------------

    async def _logged_in(self, call: Call) -> Principal:
        given = call.request.headers.get("authorization", "")
        digest = hashlib.blake2b(given.encode(), key=self._digest_key).digest()
        kept = self._logins.get(digest)
        if kept is not None and kept[0] > time.monotonic():
            return kept[1]
        principal, credentials = _credentials(given, self._mechanism)
        async with self._turns:
            try:
                await asyncio.to_thread(self._try, credentials)
            except RequestRefused:
                self._log.info("registry login refused", principal=str(principal))
                raise RegistryError(401, "The name, the password or the token is wrong.") from None
        self._logins[digest] = time.monotonic() + LOGIN_SECONDS, principal
        if len(self._logins) > LOGINS_KEPT_MAX:
            self._logins.popitem(last=False)
        return principal

    def _try(self, credentials: Mapping[str, str]) -> None:
        own = {name: value for name, value in self._properties.items() if not name.startswith("sasl.")}
        self._ask_one({**own, **credentials}, None)

    def _ask_one(self, properties: Mapping[str, str], request: Any) -> Any:
        """Connects to the first broker that answers, and asks it if there is a request."""
        refused: RequestRefused | None = None
        for address in self._addresses:
            try:
                with BrokerConnection(address, properties, seconds_max=ANSWER_SECONDS_MAX) as connection:
                    return connection.ask(request) if request is not None else None
            except RequestRefused as error:
                refused = error
        raise refused if refused is not None else RequestRefused("No broker is known.")

    # -- rules -------------------------------------------------------------------------------------

    async def _refresh(self) -> None:
        while True:
            await asyncio.sleep(ACLS_SECONDS)
            try:
                self._authorizer = await asyncio.to_thread(self._read_acls)
            except RegistryError as error:
                # The rules that are known still hold: an unreachable broker opens no door.
                self._log.warning("registry cannot read the ACLs", error=error.message)

    def _read_acls(self) -> Authorizer:
        request = DescribeAclsRequest(
            resource_type_filter=ResourceType.ANY,
            resource_name_filter=None,
            pattern_type_filter=PatternType.ANY,
            principal_filter=None,
            host_filter=None,
            operation=Operation.ANY,
            permission_type=Permission.ANY,
        )
        try:
            response: DescribeAclsResponse = self._ask_one(self._properties, request)
        except RequestRefused as refused:
            raise RegistryError(50001, f"The ACLs cannot be read: {refused}") from None
        if response.error_code == ErrorCode.SECURITY_DISABLED:
            raise RegistryError(50001, "The brokers have no authorizer, so there are no ACLs to go by; leave them out with --no-acls.")
        if response.error_code != ErrorCode.NONE:
            raise RegistryError(
                50001, f"The brokers refuse to show the ACLs ({response.error_code}); the registry needs DESCRIBE of the cluster."
            )
        authorizer = Authorizer(super_users=self._super_users)
        rules = (
            Acl(
                ResourceType(resource.resource_type),
                resource.resource_name,
                PatternType(resource.pattern_type),
                acl.principal,
                acl.host,
                Operation(acl.operation),
                Permission(acl.permission_type),
            )
            for resource in response.resources
            for acl in resource.acls
        )
        for number, rule in enumerate(rules):
            authorizer.index.add(Uuid(number.to_bytes(16, "big")), rule)
        return authorizer


def _credentials(given: str, mechanism: str) -> tuple[Principal, dict[str, str]]:
    """The principal that a header claims, and the properties with which to try it."""
    kind, _, value = given.partition(" ")
    try:
        if kind.lower() == "basic":
            user, colon, password = b64decode(value.strip(), validate=True).decode().partition(":")
            if user and colon:
                return Principal("User", user), {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}
        elif kind.lower() == "bearer":
            claims = json.loads(urlsafe_b64decode(value.split(".")[1] + "=="))
            settings = {"sasl.mechanism": "OAUTHBEARER", TOKEN: value.strip()}
            return Principal("User", str(claims["sub"])), settings
    except (ValueError, KeyError, IndexError, TypeError):
        pass
    raise RegistryError(401, "This registry needs a name and a password, or a token.")
