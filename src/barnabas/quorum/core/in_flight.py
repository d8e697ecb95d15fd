"""Requests in flight: at most one to each address at a time, and a pause after a failed one.

A response is ignored when its request was forgotten, because the role that sent it is over.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.model.dataclass import dataclass


class Address(NamedTuple):
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Asked:
    """The request and its receiver, to make sense of the response. ``node_id`` is -1 where only the
    address is known."""

    address: Address
    request: object
    node_id: int
    sent_ms: int
    # This request does not count as the one request to its address, so that it does not delay the
    # ordinary ones.
    aside: bool = False


class InFlight:
    def __init__(self, *, timeout_ms: int, backoff_ms: int) -> None:
        self.timeout_ms = timeout_ms
        self._backoff_ms = backoff_ms
        self._asked: dict[int, Asked] = {}
        self._backing_off: dict[Address, int] = {}
        self._next_id = 0

    def ready(self, address: Address, now_ms: int) -> bool:
        return now_ms >= self._backing_off.get(address, now_ms) and all(
            each.aside or each.address != address for each in self._asked.values()
        )

    def backing_off(self, address: Address, now_ms: int) -> bool:
        return now_ms < self._backing_off.get(address, now_ms)

    @property
    def any(self) -> bool:
        return any(not each.aside for each in self._asked.values())

    def sent(self, asked: Asked) -> int:
        self._next_id += 1
        self._asked[self._next_id] = asked
        return self._next_id

    def take(self, request_id: int) -> Asked | None:
        return self._asked.pop(request_id, None)

    def failed(self, address: Address, now_ms: int) -> None:
        self._backing_off[address] = now_ms + self._backoff_ms

    def succeeded(self, address: Address) -> None:
        self._backing_off.pop(address, None)

    def forget_all(self) -> None:
        """A new role starts without requests in flight. Pauses end too, because the new requests
        are different ones."""
        self._asked.clear()
        self._backing_off.clear()

    def expire(self, now_ms: int) -> None:
        """A response that the shell never reports must not block an address for ever."""
        for request_id, asked in list(self._asked.items()):
            if now_ms - asked.sent_ms >= 2 * self.timeout_ms:
                del self._asked[request_id]
                self.failed(asked.address, now_ms)

    def next_ms(self, now_ms: int) -> int | None:
        """When the next pause ends, or the next request has waited too long."""
        times = [until for until in self._backing_off.values() if until > now_ms]
        times += [asked.sent_ms + 2 * self.timeout_ms for asked in self._asked.values()]
        return min(times, default=None)
