"""A cluster as one principal: requests to any broker, to one, to the controller and to
coordinators.

Requests are blocking and run on threads of the console. Any broker forwards to the active
controller, so a request for the controller goes to any of them. A coordinator that is moving or
loading is asked again until :data:`~barnabas.console.limits.ANSWER_SECONDS_MAX` have passed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any, Final, TypeVar

from barnabas.console.access.connections import Connections
from barnabas.console.access.record_decoder import RecordDecoder
from barnabas.console.access.refusals import refuse_error
from barnabas.console.access.schema_decoding import SchemaDecoding
from barnabas.console.errors import ClusterRefused, NotFound
from barnabas.console.limits import ANSWER_SECONDS_MAX, CATALOG_SECONDS
from barnabas.console.settings import ClusterSettings
from barnabas.direct_requests.errors import RequestRefused
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

_RETRY_SECONDS: Final = 0.1
_NOT_NOW: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)
_DESCRIBE_CLUSTER: Final = DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=False)
T = TypeVar("T")


class CoordinatorOf(IntEnum):
    """The kind of coordinator that FindCoordinator looks for."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


@dataclass(frozen=True, slots=True)
class Broker:
    id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Brokers:
    cluster_id: str
    controller_id: int
    brokers: tuple[Broker, ...]


class ClusterClient:
    def __init__(self, settings: ClusterSettings, properties: Mapping[str, str], executor: Executor) -> None:
        """``properties`` are those of the principal, with librdkafka's names."""
        self.settings = settings
        self.properties = properties
        self.schemas = SchemaDecoding(settings.registry, settings.registry_credentials(properties))
        self.decoder = RecordDecoder(self.schemas)
        """Detects the formats of records of any topic."""
        self._executor = executor
        self._connections = Connections(properties)
        self._kept: dict[str, tuple[float, asyncio.Task[Any]]] = {}
        self._remembered: dict[type, Any] = {}
        self.is_closed = False
        self.is_connected = False
        """Whether a broker answered the last request."""
        self._logged_in: float | None = None
        """When a broker accepted the login of a new connection."""
        self._reachable = list(settings.addresses)

    def close(self) -> None:
        self.is_closed = True
        self._connections.close()
        self.schemas.close()

    # -- requests ----------------------------------------------------------------------------------

    async def log_in(self, *, seconds: float = 0.0) -> None:
        """Logs in on a new connection, unless that has been done within the last seconds. A kept
        connection proves nothing: it stays open when the password is changed or the user is
        removed. Raises :class:`ClusterRefused`."""
        if self._logged_in is None or time.monotonic() - self._logged_in >= seconds:
            await self.ask_any(_DESCRIBE_CLUSTER, is_new=True)
            self._logged_in = time.monotonic()

    async def ask_any(self, request: Any, *, version_max: int | None = None, is_change: bool = False, is_new: bool = False) -> Any:
        """Asks the broker that answered last, or the next one that can be reached. A change is
        sent once: the broker that does not answer may have seen it."""
        refused: RequestRefused | None = None
        for address in list(self._reachable):
            try:
                response = await self._ask(address, request, version_max=version_max, is_change=is_change, is_new=is_new)
            except RequestRefused as error:
                refused = error
                if is_change and "cannot be reached" not in str(error):
                    break
                continue
            if self._reachable[0] != address:
                self._reachable.remove(address)
                self._reachable.insert(0, address)
            return response
        raise ClusterRefused(str(refused))

    async def ask_broker(
        self, broker: int, request: Any, *, version_max: int | None = None, seconds_max: float = ANSWER_SECONDS_MAX, is_change: bool = False
    ) -> Any:
        found = next((each for each in (await self.brokers()).brokers if each.id == broker), None)
        if found is None:
            raise NotFound(f"Broker {broker} is not part of the cluster now.")
        try:
            return await self._ask(found.address, request, version_max=version_max, seconds_max=seconds_max, is_change=is_change)
        except RequestRefused as error:
            raise ClusterRefused(str(error)) from error

    async def ask_coordinator(
        self,
        of: CoordinatorOf,
        key: str,
        request: Any,
        *,
        codes: Callable[[Any], Iterable[int]],
        version_max: int | None = None,
        is_change: bool = False,
    ) -> Any:
        """``codes`` finds the errors in a response."""
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while True:
            broker = await self.coordinator(of, key)
            try:
                response = await self._ask(broker.address, request, version_max=version_max, is_change=is_change)
            except RequestRefused as error:
                raise ClusterRefused(str(error)) from error
            if _NOT_NOW.isdisjoint(codes(response)) or time.monotonic() > deadline:
                return response
            await asyncio.sleep(_RETRY_SECONDS)

    async def coordinator(self, of: CoordinatorOf, key: str) -> Broker:
        request = FindCoordinatorRequest(key_type=of, coordinator_keys=[key])
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        while True:
            response: FindCoordinatorResponse = await self.ask_any(request)
            (found,) = response.coordinators
            if found.error_code not in _NOT_NOW or time.monotonic() > deadline:
                break
            await asyncio.sleep(_RETRY_SECONDS)
        refuse_error(found.error_code, found.error_message, f"Cannot find the coordinator of {key}")
        return Broker(found.node_id, found.host, found.port)

    async def ask_each_broker(
        self, request: Callable[[int], Any], brokers: Iterable[int], *, version_max: int | None = None
    ) -> dict[int, Any]:
        """The responses of several brokers; a broker that cannot be asked has its error instead."""
        ids = list(brokers)
        answers = await asyncio.gather(
            *(self.ask_broker(each, request(each), version_max=version_max) for each in ids), return_exceptions=True
        )
        for each in answers:
            if isinstance(each, BaseException) and not isinstance(each, ClusterRefused | NotFound):
                raise each
        return dict(zip(ids, answers, strict=True))

    async def run(self, function: Callable[..., T], *arguments: Any, **keywords: Any) -> T:
        """A blocking function, on a thread of the console."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, partial(function, *arguments, **keywords))

    # -- answers that are reused for a moment ------------------------------------------------------

    async def brokers(self) -> Brokers:
        return await self.kept("brokers", self._ask_brokers)

    async def kept(self, name: str, make: Callable[[], Awaitable[T]], seconds: float = CATALOG_SECONDS) -> T:
        """The value of ``make``, made once for all requests of the next seconds. Requests that
        come while it is made wait for the same one."""
        now = time.monotonic()
        until, task = self._kept.get(name, (0.0, None))
        if task is None or (now > until and task.done()) or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = asyncio.ensure_future(_awaited(make))
            self._kept[name] = now + seconds, task
        # A page that is closed must not cancel what another one waits for.
        found: T = await asyncio.shield(task)
        return found

    def remembered(self, kind: type[T]) -> T:
        """The one object of this kind that lives as long as the client: histories, running jobs."""
        if kind not in self._remembered:
            self._remembered[kind] = kind()
        found: T = self._remembered[kind]
        return found

    def forget(self, *names: str) -> None:
        """After a change, so that the next page shows it."""
        for name in names or list(self._kept):
            self._kept.pop(name, None)

    async def _ask_brokers(self) -> Brokers:
        response: DescribeClusterResponse = await self.ask_any(_DESCRIBE_CLUSTER)
        refuse_error(response.error_code, response.error_message, "Cannot describe the cluster")
        found = [Broker(each.broker_id, each.host, each.port, each.rack, each.is_fenced) for each in response.brokers]
        # Bootstrap addresses may be gone while the brokers that they led to still answer.
        self._reachable += [each.address for each in found if each.address not in self._reachable]
        del self._reachable[len(self.settings.addresses) + len(found) :]
        return Brokers(response.cluster_id, response.controller_id, tuple(sorted(found, key=lambda each: each.id)))

    async def _ask(self, address: str, request: Any, **keywords: Any) -> Any:
        try:
            response = await self.run(self._connections.ask, address, request, **keywords)
        except RequestRefused:
            self.is_connected = False
            raise
        self.is_connected = True
        return response


async def _awaited(make: Callable[[], Awaitable[T]]) -> T:
    return await make()
