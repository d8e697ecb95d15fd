"""Clients work while nodes are killed, stopped, paused and cut off; then everything is read and
compared with the acknowledgements.

A deed is ``verb target``: the fault and the node that suffers it. Each one begins while records are
acknowledged on every partition, and ends only when they are again (every partition keeps a
majority, so the rest of the cluster must continue without the victim).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence

from peers.cluster import QUICK, Cluster, Node, Program
from tests.cluster.access import Access
from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.cluster.checker import check
from tests.cluster.final_reads import read_to_the_end
from tests.cluster.history import History, Key
from tests.cluster.secured_cluster import plaintext_cluster, secured_cluster
from tests.cluster.view import View
from tests.cluster.workers import (
    AssignedReader,
    GroupReader,
    IdempotentSender,
    PatientSender,
    TransactionalSender,
    Worker,
    working,
)
from tests.waiting import LONG_PATIENCE_SECONDS, until

TOPIC = "t"
PARTITIONS = 3
# The shortest time for which a victim stays away.
SHORT_SECONDS, LONG_SECONDS = 0.5, 30.0

VERBS = ("kill", "stop", "pause", "cut off", "cut off altogether", "deafen", "mute")
TARGETS = ("leader", "follower", "controller", "coordinator")
MEMBER = "member"


class Chaos:
    def __init__(self, cluster: Cluster, view: View, history: History, keys: Sequence[Key], chance: random.Random) -> None:
        self._cluster = cluster
        self._view = view
        self._history = history
        self._keys = keys
        self._chance = chance
        self.deeds: list[str] = []

    def do(self, deed: str, *, hold_seconds: float = SHORT_SECONDS) -> None:
        verb, target = deed.rsplit(" ", 1)
        self.await_progress()
        victim = self._victim(target)
        self._say(f"{deed}: {victim.id}")
        undo = self._strike(verb, victim)
        struck = time.monotonic()
        self.await_progress()
        self._say("progress without it")
        time.sleep(max(0.0, hold_seconds - (time.monotonic() - struck)))
        undo()
        self._recovered()

    def restart_all(self, change: Callable[[Node], None] | None = None) -> None:
        """Restarts the nodes cleanly one after the other, as an upgrade does, each with changed
        settings."""
        for node in list(self._cluster.nodes.values()):
            self.await_progress()
            self._say(f"restart {node.id}")
            node.stop()
            if change is not None:
                change(node)
            node.start()
            node.await_listening()
            self._recovered()

    def kill_and_start(self, node: Node) -> None:
        self.await_progress()
        self._say(f"kill {node.id}")
        node.kill()
        self.await_progress()
        node.start()
        self._recovered()

    def kill_everyone(self) -> None:
        """Kills all nodes at once, as a power failure does, except that the kernel still has all
        data that it was given."""
        self.await_progress()
        self._say("kill everyone")
        for node in self._cluster.nodes.values():
            node.kill()
        self._cluster.start()
        self._recovered()

    def replace_machine(self, node: Node) -> None:
        """The machine is lost with its disks, and another one takes over its id."""
        self.await_progress()
        self._say(f"replace {node.id}")
        node.kill()
        node.wipe()
        node.start()
        self._recovered()

    def await_progress(self) -> None:
        """Waits until every partition acknowledges a record from now on, and the group reads on."""
        before, read_before = self._history.acknowledged(), self._history.read_by(MEMBER)

        def further() -> bool:
            assert not self._history.complaints, self._history.complaints[:5]
            now = self._history.acknowledged()
            return all(now.get(key, 0) > before.get(key, 0) for key in self._keys) and self._history.read_by(MEMBER) > read_before

        # The first time, the acknowledged records may have been sent before the call; the second
        # time they were not.
        for _ in range(2):
            try:
                until(further, f"records are acknowledged and read after {self.deeds[-3:]}", seconds_max=LONG_PATIENCE_SECONDS)
            except AssertionError as failure:
                failure.add_note(f"acknowledged {before}, now {self._history.acknowledged()}")
                failure.add_note(f"read by the group {read_before}, now {self._history.read_by(MEMBER)}")
                failure.add_note(f"led as others see it: { {node.id: self._as_seen_by(node) for node in self._cluster.brokers} }")
                raise
            before, read_before = self._history.acknowledged(), self._history.read_by(MEMBER)

    def _as_seen_by(self, node: Node) -> dict[str, tuple[int, list[int]]]:
        """The leaders and in-sync replicas in the metadata of this node."""
        view = self._view.seen_without(*(other.id for other in self._cluster.brokers if other is not node))
        topics = sorted({key.topic for key in self._keys} | {"__consumer_offsets"})
        return {f"{topic}-{index}": (each.leader_id, each.isr_nodes) for topic in topics for index, each in view.partitions(topic).items()}

    def _victim(self, target: str) -> Node:
        key = self._chance.choice(self._keys)
        controller = self._view.await_controller()
        if target == "controller":
            return self._cluster.node(controller)
        if target == "coordinator":
            return self._cluster.node(self._view.coordinator(GroupReader.GROUP))
        self._view.await_leader(key.topic, key.partition)
        described = self._view.partitions(key.topic)[key.partition]
        if target == "leader":
            return self._cluster.node(described.leader_id)
        followers = [replica for replica in described.replica_nodes if replica != described.leader_id]
        return self._cluster.node(next((each for each in followers if each != controller), followers[0]))

    def _strike(self, verb: str, victim: Node) -> Callable[[], None]:
        others = [each for each in self._cluster.nodes if each != victim.id]
        match verb:
            case "kill":
                victim.kill()
                return victim.start
            case "stop":
                victim.stop()
                return victim.start
            case "pause":
                victim.pause()
                return victim.resume
        assert self._cluster.links is not None
        match verb:
            case "cut off":
                self._cluster.cut_off(victim.id)
            case "cut off altogether":
                self._cluster.cut_off(victim.id, from_clients=True)
            case "deafen":
                self._cluster.links.cut(others, [victim.id])
            case "mute":
                self._cluster.links.cut([victim.id], others)
            case _:
                raise ValueError(verb)
        return self._cluster.heal

    def _recovered(self) -> None:
        for node in self._cluster.nodes.values():
            node.await_listening()
        self._view.await_brokers(*(node.id for node in self._cluster.brokers))
        for topic in sorted({key.topic for key in self._keys}):
            self._view.await_in_sync(topic)
        self._say("recovered")

    def _say(self, what: str) -> None:
        self.deeds.append(f"{time.strftime('%H:%M:%S')} {what}")


def crew(sender: type[Worker]) -> dict[str, type[Worker]]:
    """The clients of a run, by name."""
    return {
        "sender-1": sender,
        "sender-2": sender,
        "reader": AssignedReader,
        f"{MEMBER}-1": GroupReader,
        f"{MEMBER}-2": GroupReader,
    }


def workers_for(access: Access, history: History, keys: Sequence[Key], seed: int, sender: type[Worker]) -> list[Worker]:
    return [kind(name, access.librdkafka, history, keys, seed) for name, kind in crew(sender).items()]


def survived(
    deeds: Sequence[str | Callable[[Chaos, Cluster, View], None]],
    *,
    seed: int,
    transactional: bool = False,
    proxied: bool = False,
    brokers: int = 3,
    controllers: int = 0,
    hold_seconds: float = SHORT_SECONDS,
    properties: Mapping[str, str] | None = None,
    programs: Mapping[int, Program] | None = None,
    log_dirs: int = 1,
    secured: bool = False,
) -> History:
    """Performs the deeds one after the other while clients work; then there is no anomaly, and the
    replicas hold the same bytes."""
    history, keys = History(), [Key(TOPIC, partition) for partition in range(PARTITIONS)]
    quick = {**QUICK, **(properties or {})}
    made = barnabas_cluster(
        brokers=brokers, controllers=controllers, proxied=proxied, properties=quick, programs=programs, log_dirs=log_dirs
    )
    with secured_cluster(made) if secured else plaintext_cluster(made) as (cluster, view):
        view.create_topic(TOPIC, PARTITIONS)
        chaos = Chaos(cluster, view, history, keys, random.Random(seed))
        try:
            sender = TransactionalSender if transactional else PatientSender if programs else IdempotentSender
            with working(workers_for(view.access, history, keys, seed, sender)):
                for deed in deeds:
                    if isinstance(deed, str):
                        chaos.do(deed, hold_seconds=hold_seconds)
                    else:
                        deed(chaos, cluster, view)
                chaos.await_progress()
            read_to_the_end(view.access, history, keys)
            check(history)
            assert not history.complaints, history.complaints[:5]
            # A run without operations shows nothing.
            assert history.done("txn" if transactional else "send") > 50, history.summary()
            assert history.done("poll") > 0, history.summary()
            replicas_agree(cluster, view, keys)
        except BaseException as failure:
            failure.add_note(f"seed {seed}, {history.summary()}\n" + "\n".join(chaos.deeds))
            raise
    return history


def replicas_agree(cluster: Cluster, view: View, keys: Sequence[Key]) -> None:
    """The logs are equal byte for byte on every disk, because replicas are copies of batches and
    not of records."""
    for key in keys:
        replicas = view.partitions(key.topic)[key.partition].replica_nodes

        def alike(key: Key = key, replicas: Sequence[int] = replicas) -> bool:
            return len({bytes_of(cluster.node(replica), key) for replica in replicas}) == 1

        until(alike, f"the replicas of {key.topic}-{key.partition} are alike")


def bytes_of(node: Node, key: Key) -> bytes:
    segments = [segment for data in node.log_dirs for segment in (data / f"{key.topic}-{key.partition}").glob("*.log")]
    return b"".join(segment.read_bytes() for segment in sorted(segments))
