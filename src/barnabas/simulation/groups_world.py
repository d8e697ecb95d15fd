"""Level four: groups and transactions. Whole nodes, and processes that copy an input to an output
exactly once.

A group has two or three slots. Each slot has a process, the copier, with the slot's transactional
id and, where it is a static member, the slot's instance id. Copiers die and come back; or they
stall while another takes the slot, and continue afterwards as zombies.

:mod:`~barnabas.simulation.cluster_world` checks every partition, here including internal topics. In
addition the checker verifies the claims of :mod:`~barnabas.simulation.transaction_ledger` whenever
a log's committed part grows, and whenever a client gets a response. After the last fault every
request is answered, every transaction ends, and the whole input is copied.

Two faults of the other levels are left out. The network keeps the order of messages between two
hosts and duplicates none, as TCP does: transactions of version 1 rely on it. And clocks do not
jump: coordinators keep deadlines as times of day.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import Any

from barnabas.coordinators.group.record_types import GROUP_RECORD_TYPES
from barnabas.coordinators.record import decode_record
from barnabas.coordinators.transaction.state import AT_REST
from barnabas.model.ids import TopicPartition
from barnabas.model.topic_names import CONSUMER_OFFSETS
from barnabas.records.batch_header import BatchHeader
from barnabas.records.control_batch import ControlType, read_end_transaction
from barnabas.records.record import open_batch
from barnabas.replication.partition import Partition
from barnabas.simulation.clients import Admin, Producer
from barnabas.simulation.cluster_process import OVERRIDES
from barnabas.simulation.cluster_world import ClusterWorld
from barnabas.simulation.committed_readers import CommittedReader, OffsetsReader
from barnabas.simulation.copier import Copier, Kind
from barnabas.simulation.host import Host
from barnabas.simulation.nemesis import BOUNDARY, KILL, LATENESS, LOSS, ONE_WAY, PARTITION, PAUSE, POWER, SLOW, SLOW_LINK, STUTTER
from barnabas.simulation.stable_offsets import GROUP, INPUT
from barnabas.simulation.transaction_ledger import Ending, TransactionLedger
from barnabas.simulation.violations import Violation
from barnabas.simulation.world import Scenario
from barnabas.wire.coordinator_records.offset_commit import OffsetCommitKey

OUTPUT = "out"
INPUT_PARTITIONS = 3
OUTPUT_PARTITIONS = 2
PRODUCERS = 1
COPIERS_MAX = 3

# The time until topics and coordinators exist and the first transactions have begun: earlier faults
# only delay that.
WARM_UP_MS = 3000
# Between two faults of the cluster, and between two faults of copiers: an election, a session and a
# rebalance take seconds, and the interesting states come after them.
CALMS_MS_MAX = (1500, 4000, 8000)
CLIENT_CALM_MS_MAX = 4000
# How long a restarted process takes to be up.
RESTART_MS_MAX = 1500
# With the shorter one a stalled copier finds its transaction aborted; with the longer one it is
# evicted from its group first, and the group has to refuse its offsets.
TRANSACTION_TIMEOUTS_MS = (3000, 10_000)
# Longer than sessions, rebalances and transactions may take.
ZOMBIE_MS_MAX = 7000


class Slot:
    """A place among the copiers: its process has the properties of ``kind``, its transactional id
    and its instance id.
    """

    def __init__(self, number: int, kind: Kind) -> None:
        self.number = number
        self.kind = kind
        self.host: Host | None = None


class GroupsWorld(ClusterWorld):
    bearable = (KILL, POWER, BOUNDARY, PAUSE, SLOW, PARTITION, ONE_WAY, LOSS, LATENESS, STUTTER, SLOW_LINK)
    overrides: Mapping[str, str] = MappingProxyType(
        {
            **OVERRIDES,
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.num.partitions": "1",
            "offsets.commit.timeout.ms": "2000",
            "group.min.session.timeout.ms": "500",
            "group.consumer.min.session.timeout.ms": "1000",
            "group.consumer.session.timeout.ms": "2000",
            "group.consumer.min.heartbeat.interval.ms": "100",
            "group.consumer.heartbeat.interval.ms": "300",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
        }
    )

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.network.in_order = True
        self.partitions = [TopicPartition(INPUT, index) for index in range(INPUT_PARTITIONS)]
        self.outputs = [TopicPartition(OUTPUT, index) for index in range(OUTPUT_PARTITIONS)]
        self.ledger = TransactionLedger(INPUT_PARTITIONS)
        self.healed = False
        self.records_read = 0
        self.zombies = 0
        self._healed_at = 0.0
        self._misfortune = Random(self.chance.getrandbits(64))
        self._slots: list[Slot] = []
        self._processes_started = 0

    def size(self, chance: Random) -> int:
        return 3

    def calm_ms_max(self, chance: Random) -> int:
        return chance.choice(CALMS_MS_MAX)

    def begin(self) -> None:
        super().begin()
        self.scheduler.run_for_ms(WARM_UP_MS)

    def output_of(self, index: int) -> TopicPartition:
        return self.outputs[index % OUTPUT_PARTITIONS]

    # -- clients

    def begin_clients(self) -> None:
        chance = self.chance
        admin_host = self.client_host(0)
        admin = Admin(self, admin_host, Random(chance.getrandbits(64)))
        self.go(admin_host, admin.create_topic(INPUT, INPUT_PARTITIONS))
        self.go(admin_host, admin.create_topic(OUTPUT, OUTPUT_PARTITIONS))
        for number in range(1, PRODUCERS + 1):
            host = self.client_host(number)
            self._waited_for[host.name] = None
            self.go(host, Producer(self, host, Random(chance.getrandbits(64))).run())
        readers = self.client_host(PRODUCERS + 1)
        for partition in self.outputs:
            self.go(readers, CommittedReader(self, readers, Random(chance.getrandbits(64))).run(partition))
        self.go(readers, OffsetsReader(self, readers, Random(chance.getrandbits(64))).run())
        protocol = chance.choice(["eager", "cooperative", "consumer"])
        for number in range(chance.randint(2, COPIERS_MAX)):
            kind = Kind(
                protocol, static=chance.random() < 0.4, implicit=chance.random() < 0.5, timeout_ms=chance.choice(TRANSACTION_TIMEOUTS_MS)
            )
            self.say(f"slot {number} is {kind}")
            slot = Slot(number, kind)
            self._slots.append(slot)
            self._start_copier(slot)
        self._next_misfortune()

    def go(self, host: Host, script: Any) -> None:
        self._go(host, script)

    def _start_copier(self, slot: Slot) -> None:
        self._processes_started += 1
        host = slot.host = Host(f"p{self._processes_started}", self.scheduler, Random(self.chance.getrandbits(64)))
        self.client_hosts.append(host)
        self.say(f"{host.name} takes slot {slot.number}")
        host.boot(lambda: self.go(host, Copier(self, host, Random(self.chance.getrandbits(64)), slot.number, slot.kind).run()))

    def ended(self, host: Host, why: str) -> None:
        """A copier found out that another process has its place."""
        self.say(f"{host.name} ends: {why}")
        self.scheduler.after_ms(0, self._end_copier, host)

    def _end_copier(self, host: Host) -> None:
        host.kill()
        self.network.forget(host)
        for slot in self._slots:
            if slot.host is host:
                slot.host = None
                self.scheduler.after_ms(self._misfortune.random() * RESTART_MS_MAX, self._fill, slot)

    def _fill(self, slot: Slot) -> None:
        if slot.host is None:
            self._start_copier(slot)

    def _next_misfortune(self) -> None:
        self.scheduler.after_ms(self._misfortune.random() * CLIENT_CALM_MS_MAX, self._strike_copier)

    def _strike_copier(self) -> None:
        if self.healed:
            return
        slot = self._misfortune.choice(self._slots)
        host = slot.host
        if host is not None and self.nemesis.kinds:
            action = self._misfortune.choice(["kill", "pause", "replace"])
            self.say(f"{action} {host.name} in slot {slot.number}")
            if action == "kill":
                self._end_copier(host)
            else:
                host.pause(self._misfortune.randint(1, ZOMBIE_MS_MAX))
            if action == "replace":
                self.zombies += 1
                self._start_copier(slot)
        self._next_misfortune()

    # -- what the checker sees

    def learned(self, partition: Partition, start: int, end: int) -> None:
        name = partition.partition
        if name.topic not in (OUTPUT, CONSUMER_OFFSETS):
            return
        for header, batch in partition.log.batches(start, end):
            if header.base_offset >= start:
                self._enter(name, header, batch)

    def _enter(self, where: TopicPartition, header: BatchHeader, batch: Any) -> None:
        ledger, offsets = self.ledger, where.topic == CONSUMER_OFFSETS
        if header.control:
            ended = read_end_transaction(batch)
            if ended is not None:
                ending = Ending.COMMIT if ended[0] is ControlType.COMMIT else Ending.ABORT
                ledger.ended(where, header.producer_id, ending, offsets=offsets)
            return
        for record in open_batch(batch):
            if offsets:
                self._enter_offset(where, header, record.key, record.value)
            else:
                number, partition, offset = map(int, bytes(record.value or b"").split())
                ledger.wrote(where, record.offset, header.producer_id, number, (partition, offset))

    def _enter_offset(self, where: TopicPartition, header: BatchHeader, key: Any, value: Any) -> None:
        decoded = decode_record(GROUP_RECORD_TYPES, key, value)
        if decoded is None or not isinstance(decoded.key, OffsetCommitKey) or decoded.key.group != GROUP:
            return
        if decoded.value is None:
            self.ledger.deleted(decoded.key.partition)
        elif not header.transactional:
            raise Violation(f"{where}: an offset is committed in no transaction")
        else:
            self.ledger.offered(where, header.producer_id, int(decoded.value.metadata), decoded.key.partition, decoded.value.offset)

    def epoch_of_coordinator(self, node: int) -> int | None:
        """The epoch in which a node leads the offsets; None if another node leads in a later
        one.
        """
        watched = self._by_name.get(TopicPartition(CONSUMER_OFFSETS, 0))
        if watched is None or watched.leaders.leader_of(watched.leaders.latest_epoch) != f"n{node}":
            return None
        return watched.leaders.latest_epoch

    # -- the end

    def rest(self) -> None:
        super().rest()
        self.healed = True
        for host in self.client_hosts:
            host.wake()
        self._healed_at = next(host.loop.time() for host in self.hosts if host.loop is not None)

    def unsettled(self) -> str | None:
        return super().unsettled() or self.ledger.unfinished() or self._not_copied() or self._forgotten()

    def _not_copied(self) -> str | None:
        for partition, end in self._input_ends().items():
            if self.ledger.offsets[partition] < end:
                return f"input {partition} ends at {end}, and {self.ledger.offsets[partition]} of it are copied"
        for process in self.processes.values():
            for machine in process.node.broker.transactions.runtime.machines():
                for transaction in machine.transactions.values():
                    if transaction.state not in AT_REST:
                        return f"{transaction.transactional_id} is in {transaction.state.title}"
        return None

    def _forgotten(self) -> str | None:
        """A request from before the end of the last fault is answered by now, or its process is
        gone.
        """
        for process in self.processes.values():
            for listener in process.listeners:
                for each in listener.unanswered.values():
                    if each.since < self._healed_at:
                        return f"{process.host.name} has not answered {each.api} of {each.asker}"
        return None

    def _input_ends(self) -> dict[int, int]:
        return {
            name.partition: watched.committed.end_offset for name in self.partitions if (watched := self._by_name.get(name)) is not None
        }

    def last_look(self) -> None:
        super().last_look()
        self.ledger.check(self._input_ends())

    def facts(self) -> dict[str, int]:
        return {
            **super().facts(),
            "read": self.records_read,
            "commits": self.ledger.commits,
            "aborts": self.ledger.aborts,
            "zombies": self.zombies,
        }
