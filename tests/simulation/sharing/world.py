"""One partition, one share group, and everything that can go wrong between them.

The log grows, has gaps, and loses its start. Leaders come and go; an old leader goes on for a while
without knowing it. Members fetch, acknowledge, fall silent and leave. Writes to the share
coordinator are lost, applied without an answer, or fenced, and the coordinator itself restarts from
its log. Dead letters can fail too. All of it comes from one seed.

The :class:`~tests.simulation.sharing.ledger.Ledger` checks what members know.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable
from typing import NamedTuple

from barnabas.coordinators.share.persister import ShareState
from barnabas.model.errors import ErrorCode
from barnabas.sharing.core.acknowledging import AcknowledgedRange, Refusal
from barnabas.sharing.core.acquiring import BATCH_OPTIMIZED, RECORD_LIMIT, LogBatch
from barnabas.sharing.core.delivery_change import DeliveryChange
from barnabas.sharing.core.record_state import AcknowledgeType
from barnabas.sharing.core.settings import ShareGroupSettings
from barnabas.sharing.core.share_partition import SharePartition
from tests.simulation.sharing.ledger import Ledger
from tests.unit.coordinators.share.desk import Desk

MEMBERS = ("a", "b", "c")
LOCK_MS = 1_000
STATE_EPOCH = 1
_BATCH_MAX = 12
_FETCHED_BATCHES_MAX = 6


class Write(NamedTuple):
    """On its way to the coordinator, with the start of the moment in which it was sent."""

    leader: Leader
    change: DeliveryChange
    start_offset: int
    letters_written: bool
    # The offsets that members accepted, rejected or skipped with this change, and what follows.
    decided: dict[int, int]
    told: Callable[[bool], None]


class Leader:
    """A broker that leads the partition, or believes so."""

    def __init__(self, epoch: int, machine: SharePartition) -> None:
        self.epoch = epoch
        self.machine = machine
        self.writes: deque[Write] = deque()
        self.held: dict[str, dict[int, int]] = {member: {} for member in MEMBERS}


class World:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.coordinator = Desk()
        assert self.coordinator.initialize(start_offset=0, state_epoch=STATE_EPOCH) is ErrorCode.NONE
        self.settings = ShareGroupSettings(
            lock_duration_ms=LOCK_MS,
            delivery_count_limit=self.chance.choice([2, 3, 5]),
            record_locks_max=100,
            retry_backoff_ms=self.chance.choice([0, 0, 200]),
            dead_letter_topic="dlq.t" if self.chance.random() < 0.4 else "",
        )
        self.ledger = Ledger(self.settings)
        self.log: list[LogBatch] = []
        self.log_start = self.log_end = 0
        self.events: Counter[str] = Counter()
        self.calm = False
        self._epoch = 0
        self.leader = self._elect()
        self.former: list[Leader] = []

    # -- what happens ------------------------------------------------------------------------------

    def run(self, steps: int) -> None:
        deeds: list[tuple[int, Callable[[], None]]] = [
            (20, self.produce),
            (30, self.fetch),
            (40, self.acknowledge),
            (50, self.answer_write),
            (15, self.pass_time),
            (4, self.end_session),
            (2, self.change_leader),
            (2, self.restart_coordinator),
            (1, self.lose_log_start),
        ]
        weights = [weight for weight, _ in deeds]
        for _ in range(steps):
            deed = self.chance.choices(deeds, weights)[0][1]
            deed()
            self.events[deed.__name__] += 1

    def produce(self) -> None:
        first = self.log_end + (self.chance.randrange(3) if self.chance.random() < 0.1 else 0)
        last = first + self.chance.randrange(_BATCH_MAX)
        self.log.append(LogBatch(first, last))
        self.log_end = last + 1

    def fetch(self) -> None:
        leader = self._some_leader()
        self._fetch(leader, self.chance.choice(MEMBERS), self.chance.choice([BATCH_OPTIMIZED, RECORD_LIMIT]), self.chance.randrange(1, 30))

    def _fetch(self, leader: Leader, member: str, mode: int, records_max: int) -> int:
        machine, now_ms = leader.machine, self.coordinator.now_ms
        machine.log_starts_at(self.log_start)
        offset = machine.next_fetch_offset(now_ms)
        if not machine.can_acquire(offset):
            return 0
        found = [batch for batch in self.log if batch.last >= max(offset, self.log_start)][
            : 1 + self.chance.randrange(_FETCHED_BATCHES_MAX)
        ]
        if not found:
            return 0
        acquired = machine.acquire(
            member, offset, found, mode=mode, records_max=records_max, batch_size=self.chance.choice([3, 500]), now_ms=now_ms
        )
        if mode == RECORD_LIMIT:
            assert sum(each.last - each.first + 1 for each in acquired) <= records_max
        for first, last, count in acquired:
            for each in range(first, last + 1):
                leader.held[member][each] = count
                self.ledger.delivered(each, count, current=leader is self.leader)
        return len(acquired)

    def acknowledge(self) -> None:
        leader, member = self._some_leader(), self.chance.choice(MEMBERS)
        held = sorted(leader.held[member])
        if not held:
            return
        begin = self.chance.randrange(len(held))
        chosen = held[begin : begin + 1 + self.chance.randrange(15)]
        self._acknowledge(leader, member, chosen, lambda: self.chance.choices([0, 1, 2, 3, 4], [1, 8, 5, 2, 2])[0])

    def _acknowledge(self, leader: Leader, member: str, chosen: list[int], kind: Callable[[], int]) -> None:
        kinds: dict[int, int] = {}
        ranges: list[AcknowledgedRange] = []
        for offset in chosen:
            kinds[offset] = kind()
            if ranges and ranges[-1].last + 1 == offset:
                ranges[-1] = AcknowledgedRange(ranges[-1].first, offset, [*ranges[-1].types, kinds[offset]])
            else:
                ranges.append(AcknowledgedRange(offset, offset, [kinds[offset]]))
        change = leader.machine.acknowledge(member, ranges, self.coordinator.now_ms)
        if isinstance(change, Refusal):
            # The lock ended, or another request of the member is on its way.
            for offset in chosen:
                leader.held[member].pop(offset, None)
            return
        renewed = {offset for offset, each in kinds.items() if each == AcknowledgeType.RENEW}
        # The machine ignores offsets that it has passed already.
        changed = {offset for first, last in change.spans for offset in range(first, last + 1)}
        decided = {offset: each for offset, each in kinds.items() if offset in changed and each != AcknowledgeType.RELEASE}
        for offset in chosen:
            if offset not in renewed:
                leader.held[member].pop(offset, None)

        def told(success: bool) -> None:
            for offset, each in kinds.items() if success else ():
                if each == AcknowledgeType.ACCEPT and offset in changed:
                    self.ledger.accepted(offset)

        self._begin(leader, change, decided, told)

    def _begin(
        self, leader: Leader, change: DeliveryChange, decided: dict[int, int] | None = None, told: Callable[[bool], None] | None = None
    ) -> None:
        if change.empty:
            return
        leader.writes.append(
            Write(leader, change, leader.machine.start_offset, not change.letters, decided or {}, told or (lambda _: None))
        )

    def answer_write(self) -> None:
        leaders = [each for each in (self.leader, *self.former) if each.writes]
        if leaders:
            self._answer(self.chance.choice(leaders).writes.popleft())

    def _answer(self, write: Write) -> None:
        leader, change = write.leader, write.change
        fate = 1.0 if self.calm else self.chance.random()
        if not write.letters_written:
            if fate < 0.3 and not change.certain:
                # No letter is written, so the state must not be either.
                self._finish(write, written=False)
                return
            if fate >= 0.3:
                for letter in change.letters:
                    self.ledger.letter(letter.first, letter.last)
            # The state follows now. A lock that has ended tries its letters again.
            leader.writes.append(write._replace(start_offset=leader.machine.start_offset, letters_written=fate >= 0.3))
            return
        if fate < 0.2:
            self._finish(write, written=False)
            return
        answer = self.coordinator.write(
            *change.batches,
            state_epoch=STATE_EPOCH,
            leader_epoch=leader.epoch,
            start_offset=write.start_offset,
            delivery_complete_count=leader.machine.complete_count,
        )
        if answer is not ErrorCode.NONE:
            assert leader is not self.leader, f"the leader is refused: {answer}"
            self._finish(write, written=False)
            return
        self.ledger.written(change, write.decided)
        self._finish(write, written=fate >= 0.3)

    @staticmethod
    def _finish(write: Write, *, written: bool) -> None:
        write.leader.machine.finish(write.change, written=written)
        write.told(written)

    def pass_time(self) -> None:
        self.coordinator.wait(self.chance.choice([1, 10, 100, LOCK_MS // 2, LOCK_MS]))
        for leader in (self.leader, *self.former):
            self._end_locks(leader)

    def _end_locks(self, leader: Leader) -> None:
        if leader.machine.alarm_ms <= self.coordinator.now_ms:
            for change in leader.machine.end_locks(self.coordinator.now_ms):
                self._begin(leader, change)

    def end_session(self) -> None:
        leader, member = self._some_leader(), self.chance.choice(MEMBERS)
        leader.held[member].clear()
        self._begin(leader, leader.machine.release(member))

    def change_leader(self) -> None:
        self.former = [*self.former, self.leader][-2:] if self.chance.random() < 0.5 else []
        self.leader = self._elect()

    def _elect(self) -> Leader:
        self._epoch += 1
        state = self.coordinator.read(leader_epoch=self._epoch)
        assert isinstance(state, ShareState), state
        self.ledger.started(state.start_offset)
        return Leader(self._epoch, SharePartition(state.start_offset, state.batches, self.settings))

    def restart_coordinator(self) -> None:
        self.coordinator.reload()

    def lose_log_start(self) -> None:
        if self.log_end:
            self.log_start = max(self.log_start, self.chance.randrange(self.log_end))
            self.ledger.expired(self.log_start)

    def _some_leader(self) -> Leader:
        return self.chance.choice(self.former) if self.former and self.chance.random() < 0.15 else self.leader

    # -- the end -----------------------------------------------------------------------------------

    def come_to_rest(self) -> None:
        """Nothing goes wrong any more, and one member accepts everything that it gets."""
        self.calm = True
        self.former = []
        leader, member = self.leader, "at last"
        leader.held[member] = {}
        for _ in range(10_000):
            while leader.writes:
                self._answer(leader.writes.popleft())
            got = self._fetch(leader, member, BATCH_OPTIMIZED, 500)
            if got:
                self._acknowledge(leader, member, sorted(leader.held[member]), lambda: AcknowledgeType.ACCEPT)
            elif leader.machine.window.runs:
                self.coordinator.wait(LOCK_MS)
                self._end_locks(leader)
            elif leader.machine.start_offset >= self.log_end:
                break
        else:
            raise AssertionError(f"the member does not reach the end: {leader.machine.window.runs}")
        assert leader.machine.complete_count == 0
        self.ledger.check(offset for batch in self.log for offset in range(batch.first, batch.last + 1))
