"""Requests to the brokers of a test cluster, over sockets that stay open.

A leader or a coordinator that is moving returns an error that passes. Such a request is sent again,
to the broker that is right by then, until the time of the call is over.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.testing.client.exchange import exchange
from barnabas.wire.apis import ApiKey, stable_versions
from barnabas.wire.declare import declaration_of
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

PAUSE_SECONDS = 0.01
# Host, port and timeout in seconds.
Connect = Callable[[str, int, float], socket.socket]
# Errors that pass while the cluster moves a leader or a coordinator, or creates a topic.
_NOT_NOW = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
    }
)


class KafkaRefused(Exception):
    """The cluster refused what a helper asked for; the text is one sentence."""

    def __init__(self, doing: str, code: int, message: str | None = None) -> None:
        self.code = code
        known = code in ErrorCode._value2member_map_
        self.name = ErrorCode(code).name if known else f"error {code}"
        super().__init__(f"{doing}: {self.name}{f', {message}' if message else ''}".rstrip(".") + ".")


class Deadline:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    @property
    def over(self) -> bool:
        return time.monotonic() >= self._end


class HelperClient:
    def __init__(self, addresses: Callable[[], list[str]], connect: Connect | None = None) -> None:
        """``addresses`` are those of the brokers that can be reached at the moment. ``connect``
        makes a connection that can be used at once, by default without TLS and login."""
        self._addresses = addresses
        self._connect = connect or _connect_plainly
        self._sockets: dict[str, socket.socket] = {}
        # A test may call helpers from several threads.
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            for each in self._sockets.values():
                each.close()
            self._sockets.clear()

    def ask(self, address: str, request: Any, deadline: Deadline, *, version_max: int | None = None) -> Any:
        """Raises ``OSError`` when there is no answer in time, and at once for a broker that the
        test has paused: the cluster may still name it as a leader. A connection that an earlier
        request has left may have ended since, so a new one is tried before that."""
        if address not in self._addresses():
            raise ConnectionError(f"The broker at {address} cannot be reached: it is stopped, paused or cut off.")
        key = declaration_of(type(request)).key
        assert key is not None
        version = stable_versions(ApiKey(key)).highest
        version = version if version_max is None else min(version, version_max)
        with self._lock:
            kept = self._sockets.pop(address, None)
            for connection in [kept, None] if kept is not None else [None]:
                try:
                    return self._exchange(address, connection, request, ApiKey(key), version, deadline)
                except ConnectionError:
                    if connection is None:
                        raise
            raise AssertionError("unreachable")

    def ask_any(self, request: Any, deadline: Deadline, *, version_max: int | None = None) -> Any:
        error: OSError | None = None
        for address in self.addresses():
            try:
                return self.ask(address, request, deadline, version_max=version_max)
            except OSError as failure:
                error = failure
        assert error is not None
        raise error

    def addresses(self) -> list[str]:
        found = self._addresses()
        if not found:
            raise ConnectionError("No broker of the cluster can be reached: all are stopped, paused or cut off.")
        return found

    def retry(self, attempt: Callable[[], Any], codes: Callable[[Any], Iterable[int]], deadline: Deadline, also: Iterable[int] = ()) -> Any:
        """The result of ``attempt``, once ``codes`` finds no error in it that passes; the last one
        when the time is over."""
        passing = _NOT_NOW | frozenset(also)
        while True:
            try:
                response = attempt()
            except (OSError, KafkaRefused) as error:
                if deadline.over or (isinstance(error, KafkaRefused) and error.code not in passing):
                    raise
            else:
                if passing.isdisjoint(codes(response)) or deadline.over:
                    return response
            time.sleep(PAUSE_SECONDS)

    def metadata(self, topics: list[str] | None, deadline: Deadline, address: str | None = None) -> MetadataResponse:
        named = None if topics is None else [MetadataRequestTopic(name=each) for each in topics]
        request = MetadataRequest(topics=named, allow_auto_topic_creation=False)
        response: MetadataResponse = self.ask_any(request, deadline) if address is None else self.ask(address, request, deadline)
        return response

    def ask_coordinator(self, group: str, request: Any, deadline: Deadline, *, version_max: int | None = None) -> Any:
        def find() -> Any:
            return self.ask_any(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]), deadline)

        (found,) = self.retry(find, lambda response: [each.error_code for each in response.coordinators], deadline).coordinators
        if found.error_code:
            raise KafkaRefused(f"The coordinator of group {group} cannot be found", found.error_code, found.error_message)
        return self.ask(f"{found.host}:{found.port}", request, deadline, version_max=version_max)

    def _exchange(self, address: str, connection: socket.socket | None, request: Any, key: ApiKey, version: int, deadline: Deadline) -> Any:
        host, _, port = address.rpartition(":")
        connection = connection or self._connect(host, int(port), max(deadline.left, PAUSE_SECONDS))
        try:
            connection.settimeout(max(deadline.left, PAUSE_SECONDS))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            answer = exchange(connection, request, key, version)
        except BaseException:
            connection.close()
            raise
        self._sockets[address] = connection
        return answer


def _connect_plainly(host: str, port: int, timeout: float) -> socket.socket:
    return socket.create_connection((host, port), timeout=timeout)
