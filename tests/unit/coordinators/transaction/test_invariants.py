"""Invariants for any interleaving of clients, zombies, timeouts, markers and takeovers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.coordinators.transaction.effects import WriteMarkers
from barnabas.coordinators.transaction.state import PREPARED, TransactionState
from barnabas.coordinators.transaction.transaction import EPOCH_MAX, Transaction
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from tests.unit.coordinators.transaction.desk import TIMEOUT_MS, Desk

IDS = st.sampled_from(["t", "t", "t", "u"])
# Mostly the newest identity, sometimes a zombie.
WHICH = st.sampled_from([0, 0, 0, 1, 2])
PARTITIONS = st.lists(st.builds(TopicPartition, st.just("a"), st.integers(0, 2)), min_size=1, max_size=2)
LEGAL = {
    (before, after)
    for before, afters in {
        "EMPTY": ("EMPTY", "ONGOING", "PREPARE_ABORT"),
        "ONGOING": ("ONGOING", "PREPARE_COMMIT", "PREPARE_ABORT"),
        "PREPARE_COMMIT": ("COMPLETE_COMMIT",),
        "PREPARE_ABORT": ("COMPLETE_ABORT",),
        "COMPLETE_COMMIT": ("EMPTY", "ONGOING", "PREPARE_ABORT"),
        "COMPLETE_ABORT": ("EMPTY", "ONGOING", "PREPARE_ABORT"),
    }.items()
    for after in afters
}


@dataclass
class Known:
    """All answers about one transactional id, in order."""

    identities: list[ProducerIdentity] = field(default_factory=list)


class Transactions(RuleBasedStateMachine):
    @initialize(level=st.sampled_from([2, 2, 1, 0]), epoch=st.sampled_from([0, EPOCH_MAX - 1, EPOCH_MAX - 3]))
    def open_desk(self, level: int, epoch: int) -> None:
        self.desk = Desk()
        self.desk.level = level
        self.known = {"t": Known(), "u": Known()}
        self.old_effects: list[WriteMarkers] = []
        for each in self.known:
            self._told(each, self.desk.init(each))
            if epoch:
                self.desk.use_up_epochs(each, epoch)
                self.known[each].identities.append(self.desk.machine.transactions[each].identity)

    def _told(self, transactional_id: str, granted: object) -> None:
        if isinstance(granted, ProducerIdentity):
            assert granted.producer_epoch < EPOCH_MAX, "kept to fence with"
            identities = self.known[transactional_id].identities
            if granted not in identities:
                # Ids and epochs only rise, and no answer has an older one.
                assert granted > identities[-1] if identities else True
                identities.append(granted)

    def _given(self, transactional_id: str, which: int) -> ProducerIdentity:
        """The newest identity, or an earlier one."""
        identities = self.known[transactional_id].identities
        return identities[max(0, len(identities) - 1 - which)]

    def _step(self, transactional_id: str, act: Callable[[], None]) -> None:
        before = self.desk.machine.transactions[transactional_id]
        act()
        after = self.desk.machine.transactions[transactional_id]
        if after != before:
            assert (before.state.name, after.state.name) in LEGAL, (before, after)
            assert after.identity >= before.identity, (before, after)

    def _open(self) -> dict[str, ProducerIdentity]:
        return {name: each.identity for name, each in self.desk.machine.transactions.items() if each.state is TransactionState.ONGOING}

    def _fenced(self, opened: dict[str, ProducerIdentity]) -> None:
        """The owners of these transactions are left with an old identity."""
        for name, identity in opened.items():
            assert self.desk.machine.transactions[name].identity > identity

    @rule(name=IDS)
    def a_new_producer_begins(self, name: str) -> None:
        opened = {each: identity for each, identity in self._open().items() if each == name}
        self._step(name, lambda: self._told(name, self.desk.init(name)))
        self._fenced(opened)

    @rule(name=IDS, which=WHICH)
    def a_producer_begins_again(self, name: str, which: int) -> None:
        self._step(name, lambda: self._told(name, self.desk.init(name, self._given(name, which))))

    @rule(name=IDS, which=WHICH, partitions=PARTITIONS, version=st.sampled_from([2, 2, 0]))
    def partitions_join(self, name: str, which: int, partitions: list[TopicPartition], version: int) -> None:
        given = self._given(name, which)
        before = self.desk.machine.transactions[name]

        def join() -> None:
            answer = self.desk.add(name, given, partitions, version)
            assert (answer is ErrorCode.NONE) == (given == before.identity and before.state not in PREPARED)

        self._step(name, join)
        if given != before.identity:
            assert self.desk.machine.transactions[name] == before, "a fenced producer changes nothing"

    @rule(name=IDS, which=WHICH, committed=st.booleans(), version=st.sampled_from([2, 2, 0]))
    def a_transaction_ends(self, name: str, which: int, committed: bool, version: int) -> None:
        given = self._given(name, which)
        before = self.desk.machine.transactions[name]
        self._step(name, lambda: self._told(name, self.desk.end(name, given, committed=committed, version=version)))
        after = self.desk.machine.transactions[name]
        if after != before and given != before.identity:
            # The one exception: the owner of a transaction that a timeout ended with the last epoch
            # exchanges its producer id, and nothing ends.
            assert before.producer_epoch == EPOCH_MAX
            assert not before.partitions

    @rule(duration_ms=st.sampled_from([10, 10_000]))
    def time_passes(self, duration_ms: int) -> None:
        self.desk.wait(duration_ms)

    @rule()
    def transactions_run_out_of_time(self) -> None:
        opened = self._open()
        self.desk.wait(TIMEOUT_MS + self.desk.settings.abort_scan_ms)
        assert not self._open()
        self._fenced(opened)

    @rule(how_many=st.integers(1, 3))
    def markers_are_written(self, how_many: int) -> None:
        for effect in self.desk.effects[:how_many]:
            self.desk.effects.remove(effect)
            self.old_effects.append(effect)
            self._step(effect.transactional_id, lambda effect=effect: self.desk.written(effect))  # type: ignore[misc]

    @rule()
    def old_news_of_markers_arrives(self) -> None:
        before = dict(self.desk.machine.transactions)
        outstanding = {(each.transactional_id, each.producer_id, each.producer_epoch) for each in self.desk.effects}
        for effect in self.old_effects:
            if (effect.transactional_id, effect.producer_id, effect.producer_epoch) not in outstanding:
                self.desk.written(effect)
        assert self.desk.machine.transactions == before

    @rule()
    def another_coordinator_takes_over(self) -> None:
        before = self.desk.machine.transactions
        self.desk.reload()
        after = self.desk.machine.transactions
        assert {name: as_logged(each, self.desk.level) for name, each in before.items()} == {
            name: as_logged(each, self.desk.level) for name, each in after.items()
        }

    @invariant()
    def every_decided_end_has_its_markers_asked_for(self) -> None:
        asked = [(each.transactional_id, each.producer_id, each.producer_epoch, each.committed) for each in self.desk.effects]
        decided = [
            (each.transactional_id, each.producer_id, each.producer_epoch, each.committed)
            for each in self.desk.machine.transactions.values()
            if each.state in PREPARED
        ]
        assert sorted(asked) == sorted(decided)

    @invariant()
    def partitions_belong_to_open_transactions(self) -> None:
        for each in self.desk.machine.transactions.values():
            if each.state not in PREPARED and each.state is not TransactionState.ONGOING:
                assert not each.partitions

    def teardown(self) -> None:
        self.desk.write_markers()
        assert not [each for each in self.desk.machine.transactions.values() if each.state in PREPARED]


def as_logged(transaction: Transaction, level: int) -> object:
    always = (transaction.identity, transaction.state, transaction.partitions, transaction.start_ms, transaction.update_ms)
    return always if level == 0 else (always, transaction.previous_producer_id, transaction.next_producer_id, transaction.client_version)


TestTransactions = Transactions.TestCase
TestTransactions.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
