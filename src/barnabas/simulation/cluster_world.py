"""Levels two and three: whole nodes, and clients of them. The checker verifies, besides the claims
about the quorum:

- every partition has one leader per epoch, and a new leader has all records that were ever
  committed;
- replicas agree below their high watermarks, which do not fall;
- a leader's high watermark is never above the log ends of the other in-sync replicas;
- nor is it ever below the offset that the leader's metadata and its followers' fetches allow: a
  fenced broker does not hold it back;
- an acknowledged batch (acks=all) is committed, once, at the offset in the response, and consumers
  read exactly the committed batches;
- topics whose creation was acknowledged exist in the end, on all nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Any, TypeAlias

from barnabas.model.ids import METADATA_TOPIC_ID, NodeId, TopicPartition, Uuid
from barnabas.replication.partition import Partition
from barnabas.simulation.clients import TOPIC, Admin, Client, Consumer, Producer
from barnabas.simulation.cluster_process import DATA, OVERRIDES, ClusterProcess, written
from barnabas.simulation.history import CommittedLog, Leaders, ReadLog, Written
from barnabas.simulation.host import Host
from barnabas.simulation.nemesis import (
    BOUNDARY,
    CLOCK,
    DOUBLING,
    KILL,
    LATENESS,
    LOSS,
    ONE_WAY,
    PARTITION,
    PAUSE,
    POWER,
    REFUSAL,
    RESET,
    ROT,
    SLOW,
)
from barnabas.simulation.violations import Violation
from barnabas.simulation.world import Scenario, World

PRODUCERS = 2
PARTITIONS = 2
# A topic that is created again under an old name is another topic.
Key: TypeAlias = tuple[Uuid, int]
_QUORUM: Key = (METADATA_TOPIC_ID, 0)


def key_of(partition: Partition) -> Key:
    return partition.topic_id, partition.partition.partition


def host_name(node_id: int) -> str:
    return f"n{node_id}"


class Watched:
    """The checker's knowledge of one partition."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.leaders = Leaders(name)
        self.committed = CommittedLog(name)


class Seen:
    """The checker's last observation of one replica, or of one node's part in the quorum."""

    __slots__ = ("end_offset", "epoch", "high_watermark", "isr", "leads", "partition_epoch")

    def __init__(self) -> None:
        self.high_watermark = 0
        self.epoch = -1
        self.leads = False
        self.end_offset = 0
        self.isr: tuple[int, ...] = ()
        self.partition_epoch = -1


class ClusterWorld(World):
    bearable: tuple[str, ...] = (
        KILL,
        POWER,
        BOUNDARY,
        PAUSE,
        SLOW,
        CLOCK,
        PARTITION,
        ONE_WAY,
        LOSS,
        DOUBLING,
        LATENESS,
        ROT,
        RESET,
        REFUSAL,
    )
    process_class: type[ClusterProcess] = ClusterProcess
    controllers = 3
    overrides: Mapping[str, str] = OVERRIDES

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.quorum = Watched("quorum")
        self.watched: dict[Key, Watched] = {}
        # The topic that clients use is created once, so its name identifies it.
        self._by_name: dict[TopicPartition, Watched] = {}
        self.processes: dict[str, ClusterProcess] = {}
        self._seen: dict[tuple[str, Key], Seen] = {}
        # The same by object: a process makes a new one for its replica at every start.
        self._seen_replicas: dict[Partition, Seen] = {}
        # The machines that lost, or are about to lose, unsynced writes. See may_lose_power.
        self._dirty: str | None = None
        self._booted_us: dict[str, int] = {}
        self._became_leader_us: dict[tuple[str, Key], int] = {}
        self.partitions = [TopicPartition(TOPIC, index) for index in range(PARTITIONS)]
        self.wanted_topics: dict[str, bool] = {}
        self._waited_for: dict[str, None] = {}
        self._acknowledged: list[tuple[TopicPartition, int, int]] = []
        self._reads = 0
        self._resting = False
        # Brokers that were fenced before their session ended.
        self.fenced_early = 0
        self._clients: list[Client] = []
        for host in self.hosts:
            host.after_run = partial(self._look_at, host)

    def size(self, chance: Random) -> int:
        return chance.choice([3, 3, 3, 4])

    # -- life

    def begin(self) -> None:
        for host in self.hosts:
            self.restart(host)
        self.begin_clients()

    def fenced_gone(self, broker_id: int, broker_epoch: int) -> None:
        """A controller says that this process of the broker has ended. Only a refusal that misleads
        excuses an error.
        """
        host = self.hosts[broker_id - 1]
        process = self.processes.get(host.name)  # None while the host starts
        alive = host.up and process is not None and process.broker_epoch == broker_epoch
        if alive and not self.network.false_refusals:
            raise Violation(f"{host.name} runs with epoch {broker_epoch}, and was fenced because its process is gone")
        self.fenced_early += 1

    def client_host(self, number: int) -> Host:
        host = Host(f"c{number}", self.scheduler, Random(self.chance.getrandbits(64)))
        host.boot(_nothing)
        self.client_hosts.append(host)
        return host

    def begin_clients(self) -> None:
        admin_host = self.client_host(0)
        admin = Admin(self, admin_host, Random(self.chance.getrandbits(64)))
        self._go(admin_host, admin.create_topic(TOPIC, PARTITIONS))
        for number in range(1, PRODUCERS + 1):
            host = self.client_host(number)
            producer = Producer(self, host, Random(self.chance.getrandbits(64)))
            self._waited_for[host.name] = None
            self._go(host, producer.run())
        host = self.client_host(PRODUCERS + 1)
        for partition in self.partitions:
            self._go(host, Consumer(self, host, Random(self.chance.getrandbits(64))).run(partition))

    def _go(self, host: Host, script: Any) -> None:
        assert host.loop is not None
        task = host.loop.create_task(script)
        # A violation that a client finds ends the run, not only a task.
        task.add_done_callback(lambda done: done.result())

    def restart(self, host: Host) -> None:
        self.say(f"{host.name} starts")
        self._booted_us[host.name] = self.scheduler.now_us
        host.boot(lambda: self._start(host))

    def _start(self, host: Host) -> None:
        process = self.processes[host.name] = self.process_class(self, host, NodeId(self.hosts.index(host) + 1))
        process.start()

    def died(self, host: Host) -> None:
        self.processes.pop(host.name, None)
        for watched in [self.quorum, *self.watched.values()]:
            watched.committed.forget_node(host.name)
        for key in [key for key in self._seen if key[0] == host.name]:
            del self._seen[key]

    # -- how much may be lost at once

    def may_lose_power(self, host: Host) -> bool:
        """Kafka does not wait for the disk before it acknowledges: it relies on
        min.insync.replicas, here two, not all losing their unsynced writes. So only one machine at
        a time loses power, while all others are in sync, and no other process dies until it is in
        sync again: a controller cannot distinguish a killed process from a machine that lost
        writes. (The quorum waits for the disk and tolerates more.)
        """
        others = [each for each in self.hosts if each is not host]
        if any(each.armed or not self._in_sync_everywhere(each.name) for each in others):
            return False
        self._dirty = host.name
        return True

    def may_die(self, host: Host) -> bool:
        if self._dirty is None or self._dirty == host.name:
            return True
        dirty = next(each for each in self.hosts if each.name == self._dirty)
        if dirty.armed or not self._in_sync_everywhere(dirty.name):
            return False
        self._dirty = None
        return True

    def rot(self, host: Host) -> str | None:
        """Flip a bit in a partition's log while the machine is down. It counts as lost, like the
        writes that a power cut takes.
        """
        if not host.up or not self.may_lose_power(host):
            return None
        host.kill("stopped, and a bit on its disk flips")
        disk, chance = host.disk, host.chance
        logs = [
            f"{DATA}/{name}/{file}"
            for name in disk.names(DATA)
            if name.startswith(TOPIC) and disk.is_directory(f"{DATA}/{name}")
            for file in disk.names(f"{DATA}/{name}")
            if file.endswith(".log") and disk.size_bytes(f"{DATA}/{name}/{file}")
        ]
        if not logs:
            return None
        path = chance.choice(logs)
        position = chance.randrange(disk.size_bytes(path))
        disk.flip_bit(path, position, chance.randrange(8))
        return f"a bit at {position} of {path} on {host.name} flips"

    def _in_sync_everywhere(self, name: str) -> bool:
        process = self.processes.get(name)
        if process is None or not process.ready:
            return False
        booted_us = self._booted_us[name]
        # The topics that clients use must exist; internal ones count once they exist.
        for topic_partition in dict.fromkeys([*self.partitions, *self._by_name]):
            watched = self._by_name.get(topic_partition)
            leader = self._leader_of(watched) if watched is not None else None
            if leader is None or (process.node_id in leader.replicas and process.node_id not in leader.isr):
                return False
            if leader.node_id == process.node_id and self._became_leader_us[host_name(leader.node_id), key_of(leader)] < booted_us:
                return False
        return True

    def _replicas_of(self, watched: Watched) -> dict[str, Partition]:
        return {
            process.host.name: each
            for process in self.processes.values()
            for each in process.partitions
            if self.watched.get(key_of(each)) is watched
        }

    def _leader_of(self, watched: Watched) -> Partition | None:
        leading = [each for each in self._replicas_of(watched).values() if each.leads]
        return max(leading, key=lambda each: each.leader_epoch, default=None)

    # -- what the checker sees

    def _look_at(self, host: Host) -> None:
        """Runs after every step of a node."""
        process = self.processes.get(host.name)
        if process is None:
            return
        self._look_at_quorum(host, process)
        known = self._seen_replicas
        for partition in process.partitions:
            seen = known.get(partition)
            if seen is None:
                seen = known[partition] = self._seen_of(host, key_of(partition))
            role, end_offset = partition.role, partition.log.log_end_offset
            high_watermark = partition.progress.high_watermark
            # Most steps change one partition or none, and this runs for every partition after every
            # step.
            if (
                high_watermark != seen.high_watermark
                or end_offset != seen.end_offset
                or role.leads is not seen.leads
                or role.leader_epoch != seen.epoch
                or role.isr is not seen.isr
            ):
                self._look_at_partition(host, partition, seen)
            elif role.leads and high_watermark < end_offset:
                self._check_not_held_up(host, partition)

    def _look_at_quorum(self, host: Host, process: ClusterProcess) -> None:
        quorum = process.quorum
        if quorum is None:
            return
        seen = self._seen_of(host, _QUORUM)
        if quorum.leading and (not seen.leads or quorum.epoch != seen.epoch):
            self.say(f"{host.name} leads the quorum in epoch {quorum.epoch}")
            self.quorum.leaders.leads(host.name, quorum.epoch)
            log = process.metadata_log
            self.quorum.committed.leads(host.name, log.end_offset, process.written, epoch=quorum.epoch, log_start_offset=log.start_offset)
        seen.leads, seen.epoch = quorum.leading, quorum.epoch
        if quorum.high_watermark != seen.high_watermark:
            seen.high_watermark = quorum.high_watermark
            start = process.metadata_log.start_offset
            self.quorum.committed.committed(host.name, quorum.high_watermark, process.written, log_start_offset=start)

    def _look_at_partition(self, host: Host, partition: Partition, seen: Seen) -> None:
        name, key = partition.partition, key_of(partition)
        log = partition.log
        if log.log_end_offset < seen.end_offset:
            self._watched(partition).committed.cut(host.name, log.log_end_offset)
        seen.end_offset = log.log_end_offset
        if partition.leads and (not seen.leads or partition.leader_epoch != seen.epoch):
            watched = self._watched(partition)
            self.say(f"{host.name} leads {name} in epoch {partition.leader_epoch} with {log.log_end_offset}")
            watched.leaders.leads(host.name, partition.leader_epoch)
            self._became_leader_us[host.name, key] = self.scheduler.now_us
            # A former leader may learn of its own leadership only now, from old metadata: no
            # replica follows it.
            if partition.leader_epoch >= watched.leaders.latest_epoch:
                watched.committed.leads(host.name, log.log_end_offset, _reader(partition), log_start_offset=log.log_start_offset)
        seen.leads, seen.epoch = partition.leads, partition.leader_epoch
        if partition.high_watermark != seen.high_watermark:
            rises = partition.high_watermark > seen.high_watermark
            seen.high_watermark = partition.high_watermark
            committed = self._watched(partition).committed
            known = committed.end_offset
            committed.committed(host.name, partition.high_watermark, _reader(partition), log_start_offset=log.log_start_offset)
            if committed.end_offset > known:
                self.learned(partition, known, committed.end_offset)
            # A node may apply several changes of the in-sync replicas at once. Between the first
            # and the last the high watermark may have risen with replicas that the checker has seen
            # at neither time.
            if rises and partition.leads and _partition_epoch(partition) <= seen.partition_epoch + 1:
                self._check_in_sync(host, partition, seen.isr)
        seen.isr, seen.partition_epoch = partition.isr, _partition_epoch(partition)
        self._check_not_held_up(host, partition)

    def learned(self, partition: Partition, start: int, end: int) -> None:
        """A longer prefix of a partition's log is committed than the checker knew."""

    def _check_in_sync(self, host: Host, leader: Partition, before: tuple[int, ...]) -> None:
        """Every in-sync replica has the records that the leader counts as committed. A replica that
        restarted since the leader's election may have lost them again.

        The checker cannot see whether a new ISR or a new high watermark came first, and assumes the
        order that is no violation.
        """
        led_us = self._became_leader_us[host.name, key_of(leader)]
        if max(len(leader.isr), len(before)) < leader.log.settings.min_insync_replicas:
            raise Violation(f"{leader.partition}: the high watermark of {host.name} rises with {leader.isr} in sync")
        for node_id in set(leader.isr) & set(before):
            name = host_name(node_id)
            other = self.processes.get(name)
            if other is None or other.node_id == leader.node_id or self._booted_us[name] >= led_us:
                continue
            replica = next((each for each in other.partitions if key_of(each) == key_of(leader)), None)
            if replica is not None and replica.leader_epoch <= leader.leader_epoch and replica.log.log_end_offset < leader.high_watermark:
                raise Violation(
                    f"{leader.partition}: the high watermark of {host.name} is {leader.high_watermark},"
                    f" {name} is in sync and ends at {replica.log.log_end_offset}"
                )

    @staticmethod
    def _check_not_held_up(host: Host, leader: Partition) -> None:
        """After every step of a leader, its high watermark is as high as its knowledge allows: it
        needs no further event to move.
        """
        leadership = leader.leadership
        if leadership is None or leader.under_min_isr:
            return
        possible = leadership.high_watermark(leader.log.log_end_offset)
        if leader.high_watermark < possible:
            raise Violation(
                f"{leader.partition}: {host.name} holds its high watermark at {leader.high_watermark}, {possible} is replicated"
            )

    def _watched(self, partition: Partition) -> Watched:
        watched = self.watched.get(key_of(partition))
        if watched is None:
            watched = self.watched[key_of(partition)] = self._by_name[partition.partition] = Watched(str(partition.partition))
        return watched

    def _seen_of(self, host: Host, key: Key) -> Seen:
        seen = self._seen.get((host.name, key))
        if seen is None:
            seen = self._seen[host.name, key] = Seen()
        return seen

    # -- what clients report

    def acknowledged(self, client: str, partition: TopicPartition, offset: int, crc: int) -> None:
        found = self._by_name[partition].committed.at(offset)
        if found is None or found.digest != crc:
            raise Violation(f"{partition}: {client} gets offset {offset} for its batch, where {found} is committed")
        self._acknowledged.append((partition, offset, crc))
        self.progressed(client)

    def read(self, client: str, partition: TopicPartition, batch: Written) -> None:
        self._reads += 1
        found = self._by_name[partition].committed.at(batch.base_offset)
        if found != batch:
            raise Violation(f"{partition}: {client} reads {batch}, where {found} is committed")

    def progressed(self, client: str) -> None:
        if self._resting:
            self._waited_for.pop(client, None)

    def may_stop(self, client: str) -> bool:
        return self._resting and client not in self._waited_for

    # -- the end

    def rest(self) -> None:
        self._resting = True

    def unsettled(self) -> str | None:
        starting = [host.name for host in self.hosts if host.name not in self.processes or not self.processes[host.name].ready]
        if starting:
            return f"{', '.join(starting)} are not ready"
        if self._waited_for:
            return f"{', '.join(self._waited_for)} got no acknowledgement"
        leading = [process for process in self.processes.values() if process.quorum is not None and process.quorum.leading]
        if len(leading) != 1:
            return f"{len(leading)} nodes lead the quorum"
        for process in self.processes.values():
            if process.applied_offset < leading[0].applied_offset:
                return f"{process.host.name} has not applied all committed metadata"
        for watched in self.watched.values():
            replicas, leader = self._replicas_of(watched), self._leader_of(watched)
            if not replicas:
                continue
            if leader is None:
                return f"{watched.name} has no leader"
            if sorted(leader.isr) != sorted(leader.replicas):
                return f"of {watched.name} only {leader.isr} are in sync"
            for name, replica in replicas.items():
                if replica.high_watermark != leader.log.log_end_offset or replica.leader_epoch != leader.leader_epoch:
                    return f"{name} has {replica.high_watermark} of {watched.name}, whose leader ends at {leader.log.log_end_offset}"
        return None

    def last_look(self) -> None:
        for process in self.processes.values():
            for partition in process.partitions:
                committed = self._watched(partition).committed
                end_offset = partition.log.log_end_offset
                committed.holds(process.host.name, end_offset, _reader(partition), log_start_offset=partition.log.log_start_offset)
                if end_offset < committed.end_offset:
                    raise Violation(f"{partition.partition}: {process.host.name} ends at {end_offset} of {committed.end_offset}")
            self._look_at_topics(process)
        # Internal topics may have a batch twice: a marker without a response is written again.
        for watched in [self._by_name[name] for name in self.partitions if name in self._by_name]:
            digests = [batch.digest for batch in watched.committed.batches]
            if len(set(digests)) < len(digests):
                raise Violation(f"{watched.name}: a batch is in the log twice")
        for partition_name, offset, crc in self._acknowledged:
            found = self._by_name[partition_name].committed.at(offset)
            if found is None or found.digest != crc:
                raise Violation(f"{partition_name}: {found} is at offset {offset}, where another batch was acknowledged")

    def _look_at_topics(self, process: ClusterProcess) -> None:
        names = process.topics
        for name, wanted in self.wanted_topics.items():
            # A deleted topic may exist again: a late or repeated request created it.
            if wanted and name not in names:
                raise Violation(f"topic {name} does not exist on {process.host.name}")

    def facts(self) -> dict[str, int]:
        return {
            "epochs": self.quorum.leaders.epochs,
            "fenced early": self.fenced_early,
            "leaders": sum(watched.leaders.epochs for watched in self.watched.values()),
            "acknowledged": len(self._acknowledged),
            "read": self._reads,
            "committed": self.quorum.committed.end_offset,
        }


def _nothing() -> None:
    pass


def _partition_epoch(partition: Partition) -> int:
    return partition.leadership.isr.partition_epoch if partition.leadership is not None else -1


def _reader(partition: Partition) -> ReadLog:
    return partial(written, partition)


class ControllerWorld(ClusterWorld):
    """Level two: no records; admins create and delete topics while controllers fail and return."""

    bearable = tuple(kind for kind in ClusterWorld.bearable if kind != ROT)

    def may_lose_power(self, host: Host) -> bool:
        """The quorum tolerates it, and the topics are empty."""
        return True

    def may_die(self, host: Host) -> bool:
        return True

    def begin_clients(self) -> None:
        for number in range(1, PRODUCERS + 1):
            host = self.client_host(number)
            self._waited_for[host.name] = None
            self._go(host, Admin(self, host, Random(self.chance.getrandbits(64))).run())
