"""Clients, a network between them and the node, and a random generator that decides the next event.

A client is a generator: it yields requests and receives their responses, or None after a timeout.
Requests and responses may be late, lost or, for clients that tolerate it, duplicated.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from random import Random
from typing import Any, NamedTuple

from barnabas.coordinators.transaction.effects import WriteMarkers
from barnabas.model.ids import TopicPartition
from barnabas.model.promise import Promise
from barnabas.wire.apis import ApiKey
from barnabas.wire.compiler import encode
from barnabas.wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from tests.simulation.coordinators.node import PARTITIONS, Node, api_of


class Ask(NamedTuple):
    request: Any
    version: int


Script = Generator[Ask, Any, None]

LOST_SHARE = 0.03
DOUBLED_SHARE = 0.05
LATE_SHARE = 0.01
LATE_MARKERS_SHARE = 0.2
# Of the request, and of the transactions whose markers have epochs of their own.
MARKERS_VERSION = 2
# The probabilities of the kinds of steps. The rest are deliveries.
IMPATIENCE = 0.02
REPLICATION = 0.25
TIME = 0.03
RESIGNATION = 0.004
CRASH = 0.001
RETURN = 0.15
STRAGGLING = 0.02
ARRIVAL = 0.05
RIVALRY = 0.03
DEATH = 0.002


class Client:
    def __init__(self, world: World, name: str, script: Callable[[], Script], *, in_order: bool = False) -> None:
        """``name``: several may have the same, and take each other's place. ``in_order``: no
        message of it arrives late or twice; protocols before KIP-890 rely on their connections for
        that.
        """
        self._world = world
        self.name = name
        self._make = script
        self._in_order = in_order
        self._serial = 0
        self.waiting = False
        self._script: Script | None = None

    def begin(self) -> None:
        self._script = self._make()
        self._advance(next, self._script)

    def die(self) -> None:
        """It sends nothing any more; its earlier messages are still in flight."""
        self._serial += 1
        self._script = None
        self.waiting = False

    @property
    def alive(self) -> bool:
        return self._script is not None

    def give_up_waiting(self) -> None:
        self._answered(self._serial, None)

    def _advance(self, how: Callable[..., Ask], *arguments: Any) -> None:
        try:
            asked = how(*arguments)
        except StopIteration:
            self.die()
            return
        self._send(asked)

    def _send(self, asked: Ask) -> None:
        self._serial += 1
        self.waiting = True
        serial, body, api = self._serial, encode(asked.request, asked.version), api_of(asked.request)
        world = self._world

        def arrive() -> None:
            if self._in_order and self._serial != serial:
                return
            if not self._in_order and world.chance.random() < DOUBLED_SHARE:
                world.post(arrive, late=True)
            incarnation = world.node.incarnation
            answer = world.node.handle(body, api, asked.version, self.name)
            world.handled(asked.request, answer)

            def leave(response: Any) -> None:
                if world.node.incarnation == incarnation and world.chance.random() >= LOST_SHARE:
                    world.post(lambda: self._answered(serial, response))

            answer.then(leave)

        world.post(arrive)

    def _answered(self, serial: int, response: Any) -> None:
        if serial != self._serial or self._script is None:
            return
        self.waiting = False
        self._advance(self._script.send, response)


class World:
    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self._messages: list[Callable[[], None]] = []
        self._stragglers: list[Callable[[], None]] = []
        self.clients: list[Client] = []
        self.checks: list[Callable[[], None]] = []
        """Conditions that hold after every step."""
        self.witnesses: list[Callable[[Any, Promise[Any]], None]] = []
        """Witnesses see every request as soon as it is handled, and its response when it leaves the
        node.
        """
        self.on_loaded: list[Callable[[TopicPartition], None]] = []
        self.events: list[str] = []
        self.node = Node(self.chance, on_loaded=self._loaded, on_markers=self._post_late_markers)

    def post(self, message: Callable[[], None], *, late: bool = False) -> None:
        (self._stragglers if late or self.chance.random() < LATE_SHARE else self._messages).append(message)

    def handled(self, request: Any, answer: Promise[Any]) -> None:
        for witness in self.witnesses:
            witness(request, answer)
        self.check()

    def check(self) -> None:
        for check in self.checks:
            check()

    def _loaded(self, partition: TopicPartition) -> None:
        for each in self.on_loaded:
            each(partition)

    def _post_late_markers(self, effect: WriteMarkers) -> None:
        """In a cluster markers travel too, and a coordinator without a response sends them again.
        Before version 2 nothing distinguishes the marker of one transaction from that of the next,
        as in Kafka, which relies on them not being late.
        """
        if effect.transaction_version < MARKERS_VERSION or self.chance.random() >= LATE_MARKERS_SHARE:
            return
        topics = [WritableTxnMarkerTopic(name=each.topic, partition_indexes=[each.partition]) for each in effect.partitions]
        marker = WritableTxnMarker(
            producer_id=effect.producer_id,
            producer_epoch=effect.producer_epoch,
            transaction_result=effect.committed,
            topics=topics,
            coordinator_epoch=effect.coordinator_epoch,
            transaction_version=effect.transaction_version,
        )
        body = encode(WriteTxnMarkersRequest(markers=[marker]), MARKERS_VERSION)

        def arrive() -> None:
            self.node.handle(body, ApiKey.WRITE_TXN_MARKERS, MARKERS_VERSION, "coordinator")
            self.check()

        self.post(arrive, late=True)

    # -- random steps

    def step(self) -> None:
        chance, node = self.chance, self.node
        luck = chance.random()
        if luck < REPLICATION:
            self._replicate()
        elif luck < REPLICATION + TIME:
            node.wait(chance.choice([1, 20, 200, 1000, 4000]))
            self.check()
        elif luck < REPLICATION + TIME + IMPATIENCE:
            client = chance.choice(self.clients)
            if client.waiting:
                client.give_up_waiting()
        elif luck < REPLICATION + TIME + IMPATIENCE + RESIGNATION:
            partition = chance.choice(PARTITIONS)
            self.events.append(f"{partition} moves")
            node.resign(partition)
        elif luck < REPLICATION + TIME + IMPATIENCE + RESIGNATION + CRASH:
            self.events.append("the node crashes")
            node.crash()
        elif node.not_led and chance.random() < RETURN:
            node.lead(chance.choice(node.not_led))
        elif node.loading and chance.random() < RETURN:
            node.load_on(chance.choice(node.loading))
        elif self._stragglers and chance.random() < STRAGGLING:
            self._deliver(self._stragglers)
        elif self._messages:
            self._deliver(self._messages)
        else:
            node.wait(1)

    def _replicate(self) -> None:
        replica = self.node.partitions[self.chance.choice(PARTITIONS)]
        ends = replica.batch_ends() if replica.leads else []
        if ends:
            replica.replicate(self.chance.choice(ends))

    def _deliver(self, messages: list[Callable[[], None]]) -> None:
        index = self.chance.randrange(len(messages))
        messages[index], messages[-1] = messages[-1], messages[index]
        messages.pop()()

    def _start_client(self) -> None:
        """A dead client comes back before long; sometimes also while its old process still runs."""
        client = self.chance.choice(self.clients)
        taken = any(other.alive and other.name == client.name for other in self.clients)
        if not client.alive and (not taken or self.chance.random() < RIVALRY):
            client.begin()

    def _kill_client(self) -> None:
        self.chance.choice(self.clients).die()

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()
            if self.chance.random() < ARRIVAL:
                self._start_client()
            if self.chance.random() < DEATH:
                self._kill_client()

    def come_to_rest(self) -> None:
        """The clients are gone, everything is led, loaded and replicated, and time advances until
        nothing is open any more.
        """
        for client in self.clients:
            client.die()
        for _ in range(60):
            self._settle()
            self.node.wait(3_000)
        self._settle()

    def _settle(self) -> None:
        node = self.node
        while True:
            while node.not_led:
                node.lead(node.not_led[0])
            while node.loading:
                node.load_on(node.loading[0])
            for replica in node.partitions.values():
                ends = replica.batch_ends()
                if ends:
                    replica.replicate(ends[-1])
            if self._messages or self._stragglers:
                self._deliver(self._messages or self._stragglers)
            elif not any(replica.batch_ends() for replica in node.partitions.values()):
                return
