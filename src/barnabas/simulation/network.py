"""The network between simulated hosts: messages that are late, lost, duplicated, reordered, or cut
off in one direction.

It is worse than the connections between real nodes. Those never duplicate or reorder requests, but
a node that reconnects and asks again causes both, and a core that tolerates the one tolerates the
other.

Between brokers and clients of transactions it must not be that bad (:attr:`Network.in_order`):
their protocol relies on TCP, which neither duplicates nor reorders requests. There, a late message
delays all that follow it on its link.

A request has one outcome for its sender: a response, NETWORK_EXCEPTION (no process listens there,
or it died) or REQUEST_TIMED_OUT. The last leaves open whether the request was performed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, NamedTuple

from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.simulation.host import Host
from barnabas.simulation.scheduler import ScheduledCall, Scheduler

# The mean latency of one way; each message takes anything from zero to twice that.
TRAVEL_US = 500
# A late message is so late that a whole election fits in between.
LATE_US_MAX = 4_000_000
# As long as a node waits for a refusal.
REFUSAL_MS_MAX = 1000


class Address(NamedTuple):
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Weather:
    """The probabilities of faults for a message."""

    lost: float = 0.0
    doubled: float = 0.0
    late: float = 0.0


FAIR = Weather()
Serve = Callable[[Any], Any]
HungUp = Callable[[str, int], None]


class _Service(NamedTuple):
    host: Host
    incarnation: int
    serve: Serve
    hung_up: HungUp


class _Question:
    __slots__ = ("asker", "incarnation", "promise", "target", "timer")

    def __init__(self, asker: Host, target: str, promise: Promise[Any]) -> None:
        self.asker = asker
        self.incarnation = asker.incarnation
        self.target = target
        self.promise = promise
        self.timer: ScheduledCall | None = None

    def settle(self, outcome: Any) -> None:
        if not self.promise.done:
            if self.timer is not None:
                self.timer.cancel()
            self.promise.resolve(outcome)


class Network:
    def __init__(self, scheduler: Scheduler, chance: Random) -> None:
        self._scheduler = scheduler
        self._chance = chance
        self._services: dict[Address, _Service] = {}
        self._open: dict[_Question, None] = {}
        self.weather = FAIR
        # Pairs of hosts between which no message passes. One direction may be cut and the other
        # not.
        self.cut: set[tuple[str, str]] = set()
        # Whether the messages from one host to another arrive in the order in which they were sent.
        self.in_order = False
        # Pairs of hosts between which every message takes this much longer.
        self.slow_us: dict[tuple[str, str], int] = {}
        self._last_arrival_us: dict[tuple[str, str], int] = {}
        # How often a process that listens seems to be gone, as behind a balancer that misleads.
        self.false_refusals = 0.0
        self.messages = 0

    # -- both ends

    def listen(self, host: Host, port: int, serve: Serve, hung_up: HungUp = lambda *_: None) -> None:
        """``serve(request)`` returns a response or a promise of one; None for no response.
        ``hung_up(name, incarnation)`` is called when a process died whose connections end here.
        """
        self._services[Address(host.name, port)] = _Service(host, host.incarnation, serve, hung_up)

    def refuses(self, asker: Host, address: Address) -> Promise[bool]:
        """Whether the machine there says that no process listens. One without power says nothing,
        and the connection to a process that is stopped is made by its kernel.
        """
        promise: Promise[bool] = Promise()
        question = _Question(asker, address.host, promise)
        question.timer = self._scheduler.after_ms(REFUSAL_MS_MAX, asker.run, asker.incarnation, question.settle, False)
        self._carry(asker.name, address.host, lambda: self._knock(question, address))
        return promise

    def _knock(self, question: _Question, address: Address) -> None:
        service = self._services.get(address)
        if service is None or service.host.powered:
            refused = service is None or not self._serves(service) or self._chance.random() < self.false_refusals
            self._carry(address.host, question.asker.name, lambda: self._tell(question, refused))

    @staticmethod
    def _serves(service: _Service) -> bool:
        return service.host.up and service.incarnation == service.host.incarnation

    def ask(self, asker: Host, address: Address, request: Any, *, timeout_ms: int) -> Promise[Any]:
        promise: Promise[Any] = Promise()
        question = _Question(asker, address.host, promise)
        self._open[question] = None
        promise.then(lambda _: self._open.pop(question, None))
        question.timer = self._scheduler.after_ms(timeout_ms, asker.run, asker.incarnation, question.settle, ErrorCode.REQUEST_TIMED_OUT)
        self._carry(asker.name, address.host, lambda: self._arrive(question, address, request))
        return promise

    def _arrive(self, question: _Question, address: Address, request: Any) -> None:
        service = self._services.get(address)
        if service is None or not self._serves(service):
            self._carry(address.host, question.asker.name, lambda: self._tell(question, ErrorCode.NETWORK_EXCEPTION))
            return

        def handle() -> None:
            answer = service.serve(request)
            if isinstance(answer, Promise):
                answer.then(reply)
            else:
                reply(answer)

        def reply(response: Any) -> None:
            if response is not None:
                self._carry(address.host, question.asker.name, lambda: self._tell(question, response))

        service.host.run(service.incarnation, handle)

    def _tell(self, question: _Question, outcome: Any) -> None:
        question.asker.run(question.incarnation, question.settle, outcome)

    # -- in between

    def _carry(self, source: str, target: str, deliver: Callable[[], None]) -> None:
        chance, weather = self._chance, self.weather
        self.messages += 1
        copies = 1
        if weather is not FAIR:
            if chance.random() < weather.lost:
                return
            copies += chance.random() < weather.doubled
        for _ in range(copies):
            delay_us = int(chance.random() * 2 * TRAVEL_US)
            if weather.late and chance.random() < weather.late:
                delay_us += chance.randrange(LATE_US_MAX)
            if self.slow_us:
                delay_us += self.slow_us.get((source, target), 0)
            if self.in_order:
                delay_us = self._behind_the_last(source, target, delay_us)
            self._scheduler.after_us(delay_us, self._deliver, source, target, deliver)

    def _behind_the_last(self, source: str, target: str, delay_us: int) -> int:
        now_us = self._scheduler.now_us
        arrival_us = max(now_us + delay_us, self._last_arrival_us.get((source, target), 0))
        self._last_arrival_us[source, target] = arrival_us
        return arrival_us - now_us

    def _deliver(self, source: str, target: str, deliver: Callable[[], None]) -> None:
        if (source, target) not in self.cut:
            deliver()

    def hang_up(self, host: Host) -> None:
        """The process there died and its kernel closes all its connections, or a firewall does. (A
        host without power sends nothing.)
        """
        for question in [each for each in self._open if each.target == host.name]:
            self._carry(host.name, question.asker.name, lambda question=question: self._tell(question, ErrorCode.NETWORK_EXCEPTION))  # type: ignore[misc]
        for service in self._services.values():
            if service.host is not host and self._serves(service):
                ended = partial(service.hung_up, host.name, host.incarnation)
                self._carry(host.name, service.host.name, partial(service.host.run, service.incarnation, ended))

    def forget(self, host: Host) -> None:
        """Drop the requests of a dead process."""
        for question in [each for each in self._open if each.asker is host]:
            del self._open[question]

    def isolate(self, name: str, others: list[str], *, inbound: bool, outbound: bool) -> None:
        for other in others:
            if other != name:
                if inbound:
                    self.cut.add((other, name))
                if outbound:
                    self.cut.add((name, other))

    def heal(self) -> None:
        self.cut.clear()
        self.slow_us.clear()
        self.weather = FAIR
        self.false_refusals = 0.0


class SimulatedPeers:
    """Other nodes as one host reaches them: the port of :class:`barnabas.network.peers.Peers`."""

    def __init__(self, network: Network, host: Host) -> None:
        self._network = network
        self._host = host

    def at(self, host: str, port: int, purpose: str = "") -> SimulatedPeer:
        return SimulatedPeer(self._network, self._host, Address(host, port))

    def refuses(self, host: str, port: int) -> Promise[bool]:
        return self._network.refuses(self._host, Address(host, port))

    def close(self) -> None:
        pass


class SimulatedPeer:
    def __init__(self, network: Network, host: Host, address: Address) -> None:
        self._network = network
        self._host = host
        self._address = address

    def send(self, request: Any, *, timeout_ms: int, version_max: int | None = None) -> Promise[Any]:
        return self._network.ask(self._host, self._address, request, timeout_ms=timeout_ms)
