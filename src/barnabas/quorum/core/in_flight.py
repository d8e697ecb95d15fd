"""Requests on their way: at most one to each address at a time, and a pause after one that failed.

Answers to requests that were forgotten (the role that asked is over) are not taken any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Address(NamedTuple):
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked, and of whom, to make sense of the answer; ``node_id`` is -1 where only the address is known."""

    address: Address
    request: object
    node_id: int
    sent_ms: int
    # A request that must not stand in the way of the ordinary ones to the same address.
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
        """A new role asks anew; pauses end too, because what is asked now is something else."""
        self._asked.clear()
        self._backing_off.clear()

    def expire(self, now_ms: int) -> None:
        """An answer that the shell never reports must not block an address for ever."""
        for request_id, asked in list(self._asked.items()):
            if now_ms - asked.sent_ms >= 2 * self.timeout_ms:
                del self._asked[request_id]
                self.failed(asked.address, now_ms)

    def next_ms(self, now_ms: int) -> int | None:
        """When a pause ends or a request has waited too long."""
        times = [until for until in self._backing_off.values() if until > now_ms]
        times += [asked.sent_ms + 2 * self.timeout_ms for asked in self._asked.values()]
        return min(times, default=None)
