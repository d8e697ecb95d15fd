"""The outcome of every transaction of the copiers, as the checker reads it in the committed part of
the logs.

A copier reads a range of an input partition, writes each record to the output, and commits the end
of the range as its group's offset, all in one transaction. The checker numbers the transactions;
the number is in every record and in the metadata of every offset, so that each can be identified.
The claims:

- a transaction ends in the same way in every partition that it touched, and in the way that its
  copier's response said, if there was one;
- when the first marker of a commit is written, all acknowledged writes of the copier are in the
  logs, output and offsets alike;
- a range begins at the group's committed offset: then no input record is copied twice, none is left
  out, and no committed offset goes back;
- a producer begins nothing new in a partition where its last transaction has not ended;
- a reader of committed records gets all records of committed transactions and no others;
- a reader of stable offsets gets the committed offset, and no answer while a transaction may change
  it.

Pure: events come in, and the first that contradicts an earlier one raises a
:class:`~barnabas.simulation.violations.Violation`.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from barnabas.model.ids import TopicPartition
from barnabas.simulation.violations import Violation

# The committed offset before any commit: the group begins at the start of the log.
BEGINNING = 0


class Ending(Enum):
    COMMIT = "committed"
    ABORT = "aborted"


class Range(NamedTuple):
    """A range of an input partition: from ``start`` up to, not including, ``end``."""

    start: int
    end: int


@dataclass(slots=True)
class Account:
    """The state of one transaction."""

    number: int
    copier: str
    ranges: Mapping[int, Range]
    """By input partition."""
    copied: set[tuple[int, int]] = field(default_factory=set)
    """Input partition and offset of the records that are in the output."""
    offered: dict[int, int] = field(default_factory=dict)
    """By input partition: the offset that takes effect if the transaction commits."""
    acknowledged: Ending | None = None
    open_in: set[TopicPartition] = field(default_factory=set)
    ended: dict[TopicPartition, Ending] = field(default_factory=dict)

    def __str__(self) -> str:
        ranges = ", ".join(f"{partition}: {each.start}-{each.end}" for partition, each in self.ranges.items())
        return f"transaction {self.number} of {self.copier} ({ranges})"

    @property
    def ending(self) -> Ending | None:
        return next(iter(self.ended.values()), None)


class Question(NamedTuple):
    """The ledger's knowledge when a client asked for stable offsets. By input partition: the lowest
    right answer, and the transactions that were about to change the offset.
    """

    floors: dict[int, int]
    pending: dict[int, frozenset[int]]


class TransactionLedger:
    def __init__(self, input_partitions: int) -> None:
        self._partitions = range(input_partitions)
        self.accounts: list[Account] = []
        self.offsets: dict[int, int] = dict.fromkeys(self._partitions, BEGINNING)
        """The committed offset, by input partition."""
        self._history: dict[int, set[int]] = {partition: {BEGINNING} for partition in self._partitions}
        self._open: dict[tuple[TopicPartition, int], dict[int, None]] = {}
        # Ranges of committed transactions in order, with their numbers.
        self._counted: dict[int, list[tuple[Range, int]]] = defaultdict(list)
        self._pending: dict[int, set[int]] = defaultdict(set)
        # By output partition: offsets of the records with their transactions, and the progress of a
        # reader.
        self._written: dict[TopicPartition, list[tuple[int, int]]] = defaultdict(list)
        self.commits = self.aborts = 0

    # -- requests of copiers, and their responses

    def began(self, copier: str, ranges: Mapping[int, Range]) -> int:
        account = Account(len(self.accounts), copier, dict(ranges))
        self.accounts.append(account)
        return account.number

    def acknowledged(self, number: int, ending: Ending) -> None:
        account = self.accounts[number]
        account.acknowledged = ending
        self._agree(account, ending, "the response to its copier")

    def _agree(self, account: Account, ending: Ending, where: object) -> None:
        if account.acknowledged is not None and account.acknowledged is not ending:
            raise Violation(f"{account} is {ending.value} in {where}, and the response to its copier says {account.acknowledged.value}")
        for partition, other in account.ended.items():
            if other is not ending:
                raise Violation(f"{account}: {where} has it {ending.value}, {partition} has it {other.value}")

    # -- the contents of the logs

    def wrote(self, where: TopicPartition, offset: int, producer_id: int, number: int, source: tuple[int, int]) -> None:
        """A record of the output, copied from ``source``: input partition and offset."""
        account = self._in_transaction(where, producer_id, number)
        if source in account.copied:
            raise Violation(f"{account} has {source} twice in the output, the second time at {offset} of {where}")
        account.copied.add(source)
        self._written[where].append((offset, number))

    def offered(self, where: TopicPartition, producer_id: int, number: int, partition: int, offset: int) -> None:
        """An offset of the group, in the partition ``where`` of offsets. A retry may write it
        again.
        """
        account = self._in_transaction(where, producer_id, number)
        account.offered[partition] = offset
        self._pending[partition].add(number)

    def _in_transaction(self, where: TopicPartition, producer_id: int, number: int) -> Account:
        account = self.accounts[number]
        if where in account.ended:
            raise Violation(f"{account} has ended in {where} and continues there")
        of_producer = self._open.setdefault((where, producer_id), {})
        for other in of_producer:
            if other != number:
                raise Violation(f"{account} begins in {where} before the end of {self.accounts[other]}, which has the same producer")
        of_producer[number] = None
        account.open_in.add(where)
        return account

    def ended(self, where: TopicPartition, producer_id: int, ending: Ending, *, offsets: bool) -> None:
        """A marker. ``offsets`` is whether ``where`` is a partition of offsets."""
        for number in self._open.pop((where, producer_id), {}):
            account = self.accounts[number]
            self._agree(account, ending, where)
            first = not account.ended
            account.open_in.discard(where)
            account.ended[where] = ending
            if first:
                self._count(account, ending)
            if offsets:
                self._move_offsets(account, ending, where)

    def _count(self, account: Account, ending: Ending) -> None:
        """From now on the outcome is known."""
        if ending is Ending.ABORT:
            self.aborts += 1
            return
        self.commits += 1
        for partition, copied in account.ranges.items():
            missing = [offset for offset in range(*copied) if (partition, offset) not in account.copied]
            if missing:
                raise Violation(f"{account} is committed without {missing} of input {partition}")
            if account.offered.get(partition) != copied.end:
                raise Violation(f"{account} is committed with offset {account.offered.get(partition)} of input {partition}")
            counted = self._counted[partition]
            index = bisect_right(counted, (copied, -1))
            for neighbour, number in counted[max(0, index - 1) : index + 1]:
                if neighbour.start < copied.end and copied.start < neighbour.end:
                    raise Violation(f"{account} is committed, and {self.accounts[number]} is, too: the output has input {partition} twice")
            insort(counted, (copied, account.number))

    def _move_offsets(self, account: Account, ending: Ending, where: TopicPartition) -> None:
        for partition, offset in account.offered.items():
            self._pending[partition].discard(account.number)
            if ending is Ending.COMMIT:
                before = self.offsets[partition]
                if before != account.ranges[partition].start:
                    raise Violation(f"{account} is committed in {where}, and the committed offset of input {partition} is {before}")
                self.offsets[partition] = offset
                self._history[partition].add(offset)

    def deleted(self, partition: int) -> None:
        raise Violation(f"the committed offset of input {partition} is deleted")

    # -- the responses to readers

    def read(self, where: TopicPartition, start: int, end: int, offsets: list[int], reader: str) -> None:
        """``reader``, which reads only committed records, gets those at ``offsets`` as the only
        ones from ``start`` to ``end``.
        """
        written = self._written[where]
        first = bisect_right(written, (start, -1))
        expected = []
        for offset, number in written[first:]:
            if offset >= end:
                break
            ending = self.accounts[number].ended.get(where)
            if ending is None:
                raise Violation(f"{reader} reads {where} up to {end}, past {offset} of {self.accounts[number]}, which has not ended")
            if ending is Ending.COMMIT:
                expected.append(offset)
        if offsets != expected:
            raise Violation(f"{reader} reads {offsets} of {where} from {start} to {end}, where {expected} are committed")

    def asks(self) -> Question:
        """A client is about to ask for stable offsets."""
        floors = dict(self.offsets)
        for account in self.accounts:
            # The transaction coordinator has decided; until the group's coordinator has the marker,
            # the offset is not stable.
            if account.acknowledged is Ending.COMMIT:
                for partition, copied in account.ranges.items():
                    floors[partition] = max(floors[partition], copied.end)
        return Question(floors, {partition: frozenset(self._pending[partition]) for partition in self._partitions})

    def answered(self, question: Question, partition: int, offset: int, reader: str, *, by_coordinator: bool) -> None:
        """``reader`` got a stable offset; -1 for none. ``by_coordinator`` is False where the node
        that answered was replaced as leader of the offsets and may not know it. Its response may be
        stale, as in Kafka; it must have been right once.
        """
        offset = max(offset, BEGINNING)
        if offset not in self._history[partition]:
            raise Violation(f"{reader} gets as the offset of input {partition} {offset}, which was never committed")
        if not by_coordinator:
            return
        if offset < question.floors[partition]:
            raise Violation(f"{reader} gets as the offset of input {partition} {offset}; {question.floors[partition]} was committed before")
        for number in question.pending[partition] & self._pending[partition]:
            raise Violation(f"{reader} gets as the offset of input {partition} {offset}, while {self.accounts[number]} is open")

    # -- the end

    def unfinished(self) -> str | None:
        for account in self.accounts:
            if account.open_in:
                return f"{account} has not ended in {', '.join(map(str, sorted(account.open_in)))}"
        return None

    def check(self, input_ends: Mapping[int, int]) -> None:
        """After convergence: acknowledged transactions are complete, and the input was copied
        once.
        """
        for account in self.accounts:
            if account.acknowledged is Ending.COMMIT and account.ending is not Ending.COMMIT:
                raise Violation(f"{account}: its commit was acknowledged, and no part of it is in the logs")
        for partition, end in input_ends.items():
            copied = BEGINNING
            for each, number in self._counted[partition]:
                if each.start != copied:
                    raise Violation(f"input {partition} is copied up to {copied}, and then {self.accounts[number]} continues")
                copied = each.end
            if copied != end or self.offsets[partition] != end:
                raise Violation(f"input {partition} ends at {end}, is copied up to {copied}, and has offset {self.offsets[partition]}")
