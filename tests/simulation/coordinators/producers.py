"""Transactional producers, their zombies, and an account of the writes and the responses of each
transaction.

A transaction is all or nothing: in every partition that it wrote to, data and offsets alike, the
same marker follows its records. Where its end was acknowledged the outcome is known; otherwise only
that all partitions agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.coordinators.transaction.state import AT_REST
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.records.batch_builder import build_batch
from barnabas.records.control_batch import ControlType, read_end_transaction
from barnabas.records.record import Record, open_batch
from barnabas.replication.reads import READ_COMMITTED, read_partition
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.simulation.coordinators.node import DATA, DATA_PARTITIONS, GROUPS_SHARD, PARTITIONS, TRANSACTIONS_SHARD, SlowPartition
from tests.simulation.coordinators.world import Ask, Script, World

GROUP = "simple"
TIMEOUT_MS = 20_000
# How often a client retries after retriable errors or timeouts before it gives up.
ATTEMPTS_MAX = 40

_PASSING = {
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.REQUEST_TIMED_OUT,
}


class End(Enum):
    COMMIT = "commit"
    ABORT = "abort"


@dataclass
class Account:
    """The state of one transaction."""

    number: int
    producer: ProducerIdentity
    acknowledged: set[tuple[TopicPartition, int]] = field(default_factory=set)
    """Its acknowledged records."""
    offsets: dict[int, int] = field(default_factory=dict)
    """By partition of the data: the offset that is committed if the transaction is, as
    acknowledged.
    """
    reported: End | None = None


class Ledger:
    """All transactions, and the newest producer of each transactional id."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.accounts: list[Account] = []
        self.granted: dict[str, ProducerIdentity] = {}

    def begin(self, producer: ProducerIdentity) -> Account:
        account = Account(len(self.accounts), producer)
        self.accounts.append(account)
        return account

    # -- after everything has settled

    def check(self) -> None:
        node = self._world.node
        ends = {name: _ends(node.partitions[name]) for name in PARTITIONS if name != TRANSACTIONS_SHARD}
        for account in self.accounts:
            self._check_account(account, ends)
        for name, found in ends.items():
            assert node.partitions[name].log.producers.first_unstable_offset() is None, f"{name}: a transaction was left open"
            if name != GROUPS_SHARD:
                visible = [number for _, number in _read_committed(node.partitions[name])]
                assert visible == [number for _, number, end in found if end is End.COMMIT], f"{name}: readers see other records"
        machine = node.transaction_machine
        assert machine is not None
        for transaction in machine.transactions.values():
            assert transaction.state in AT_REST, f"{transaction} has not ended"

    def _check_account(self, account: Account, ends: dict[TopicPartition, list[tuple[int, int, End | None]]]) -> None:
        what = f"transaction {account.number} of {account.producer}, reported as {account.reported}"
        outcomes = {name: {end for _, number, end in found if number == account.number} for name, found in ends.items()}
        known = set().union(*outcomes.values())
        assert len(known) <= 1, f"{what}, ended differently: {outcomes}"
        if account.reported is not None and known:
            assert known == {account.reported}, f"{what}, ended as {outcomes}"
        there = {(name, offset) for name, found in ends.items() for offset, number, _ in found if number == account.number}
        assert account.acknowledged <= there, f"{what}: acknowledged records are missing"


def _ends(partition: SlowPartition) -> list[tuple[int, int, End | None]]:
    """Offset and transaction of every record of a transaction, and its outcome there."""
    found: list[tuple[int, int, End | None]] = []
    unfinished: dict[int, list[int]] = {}  # by producer: indexes into the result
    for header, batch in partition.log.batches(0, partition.log.log_end_offset):
        if not header.transactional:
            continue
        if not header.control:
            for record in open_batch(batch):
                unfinished.setdefault(header.producer_id, []).append(len(found))
                found.append((record.offset, _number_in(partition.partition, record), None))
            continue
        ended = read_end_transaction(batch)
        assert ended is not None
        for index in unfinished.pop(header.producer_id, []):
            offset, number, _ = found[index]
            found[index] = offset, number, End.COMMIT if ended[0] is ControlType.COMMIT else End.ABORT
    return found


def _number_in(partition: TopicPartition, record: Record) -> int:
    assert record.value is not None
    # A committed offset has the transaction's number in its metadata, between the offset and two
    # timestamps: see metadata_of.
    text = bytes(record.value)
    return int(text[text.index(b"<") + 1 : text.index(b">")])


def metadata_of(number: int) -> str:
    return f"<{number}>"


def _read_committed(partition: SlowPartition) -> Iterable[tuple[int, int]]:
    """The records that a consumer shows: batches up to the last stable offset, without those that
    the broker lists as aborted.
    """
    offset = 0
    while True:
        read = read_partition(partition, offset=offset, size_bytes_max=300, isolation=READ_COMMITTED, at_least_one=True)
        assert not read.error
        if read.region is None or not len(read.region):
            return
        aborted = sorted(read.aborted or [], key=lambda each: each.first_offset)
        hidden: set[int] = set()
        end = partition.log.end_of_region(read.region, offset)
        for header, batch in partition.log.batches(offset, end):
            while aborted and aborted[0].first_offset <= header.last_offset:
                hidden.add(aborted.pop(0).producer_id)
            if header.control:
                hidden.discard(header.producer_id)
            elif header.producer_id not in hidden:
                for record in open_batch(batch):
                    if record.offset >= offset:
                        yield record.offset, _number_in(partition.partition, record)
        offset = end


class Producer:
    """One process with a transactional id. Others with the same id may live at the same time: all
    but the newest are zombies.
    """

    def __init__(self, world: World, ledger: Ledger, transactional_id: str, *, version: int) -> None:
        """``version`` of its transactions: 2, or 0."""
        self._world = world
        self._ledger = ledger
        self._id = transactional_id
        self._new = version == 2
        self._chance = world.chance
        self._sequences: Counter[tuple[ProducerIdentity, int]] = Counter()

    def script(self) -> Script:
        self._sequences.clear()
        identity = yield from self._init(None)
        while identity is not None:
            account = self._ledger.begin(identity)
            complete = yield from self._fill(account, identity)
            if complete is None:
                return
            identity = yield from self._end(account, identity, complete)

    # -- steps

    def _persist(self, request: Any, version: int, error_of: Any) -> Any:
        """The first response that needs no retry; None when there is none."""
        for _ in range(ATTEMPTS_MAX):
            response = yield Ask(request, version)
            if response is not None and error_of(response) not in _PASSING:
                return response
        return None

    def _init(self, given: ProducerIdentity | None) -> Any:
        request = InitProducerIdRequest(
            transactional_id=self._id,
            transaction_timeout_ms=TIMEOUT_MS,
            producer_id=-1 if given is None else given.producer_id,
            producer_epoch=-1 if given is None else given.producer_epoch,
        )
        response = yield from self._persist(request, 5, lambda response: response.error_code)
        if response is None or response.error_code:
            return None
        identity = ProducerIdentity(response.producer_id, response.producer_epoch)
        self._ledger.granted[self._id] = max(identity, self._ledger.granted.get(self._id, identity))
        return identity

    def _check_not_fenced(self, identity: ProducerIdentity, newest: ProducerIdentity, action: str) -> None:
        assert identity >= newest, f"{self._id}: {action} of {identity} succeeded after {newest} was granted"

    def _fill(self, account: Account, identity: ProducerIdentity) -> Any:
        """True when everything was acknowledged, False when some record was not, None when this
        producer is fenced.
        """
        for _ in range(self._chance.choice([1, 1, 2, 3])):
            index = self._chance.randrange(DATA_PARTITIONS)
            newest = self._ledger.granted[self._id]
            if not self._new:
                error = yield from self._add_partition(identity, index)
                if error is not ErrorCode.NONE:
                    return None if error is not None else False
            response = yield from self._produce(account, identity, index, self._sequences[identity, index])
            if response is None:
                return False
            (answer,) = response.responses[0].partition_responses
            if answer.error_code:
                return False if answer.error_code in (ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE) else None
            self._check_not_fenced(identity, newest, "a produce")
            self._sequences[identity, index] += 1
            account.acknowledged.add((TopicPartition(DATA, index), answer.base_offset))
        if self._chance.random() < 0.6:
            return (yield from self._commit_offsets(account, identity))
        return True

    def _add_partition(self, identity: ProducerIdentity, index: int) -> Any:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=identity.producer_id,
            v3_and_below_producer_epoch=identity.producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=DATA, partitions=[index])],
        )
        response = yield from self._persist(
            request, 3, lambda response: response.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
        )
        if response is None:
            return None
        return ErrorCode(response.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)

    def _produce(self, account: Account, identity: ProducerIdentity, index: int, sequence: int) -> Any:
        batch = build_batch(
            [Record(0, self._world.node.clock.now_ms, None, metadata_of(account.number).encode())],
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            base_sequence=sequence,
            transactional=True,
        )
        request = ProduceRequest(
            transactional_id=self._id,
            acks=-1,
            timeout_ms=1000,
            topic_data=[TopicProduceData(name=DATA, partition_data=[PartitionProduceData(index=index, records=batch)])],
        )
        return (
            yield from self._persist(
                request, 12 if self._new else 11, lambda response: response.responses[0].partition_responses[0].error_code
            )
        )

    def _commit_offsets(self, account: Account, identity: ProducerIdentity) -> Any:
        if not self._new:
            adding = AddOffsetsToTxnRequest(
                transactional_id=self._id, producer_id=identity.producer_id, producer_epoch=identity.producer_epoch, group_id=GROUP
            )
            added = yield from self._persist(adding, 3, lambda response: response.error_code)
            if added is None or added.error_code:
                return None if added is not None else False
        index = self._chance.randrange(DATA_PARTITIONS)
        newest = self._ledger.granted[self._id]
        request = TxnOffsetCommitRequest(
            transactional_id=self._id,
            group_id=GROUP,
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=DATA,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=index, committed_offset=account.number, committed_metadata=metadata_of(account.number)
                        )
                    ],
                )
            ],
        )
        response = yield from self._persist(request, 5 if self._new else 4, lambda response: response.topics[0].partitions[0].error_code)
        if response is None:
            return False
        error = response.topics[0].partitions[0].error_code
        if error:
            return False if error == ErrorCode.TRANSACTION_ABORTABLE else None
        self._check_not_fenced(identity, newest, "a commit of offsets")
        account.offsets[index] = account.number
        return True

    def _end(self, account: Account, identity: ProducerIdentity, complete: bool) -> Any:
        """The identity to continue with; None when this producer is fenced."""
        committed = complete and self._chance.random() < 0.7
        if not complete and not self._new:
            # A request of it may still be in flight, and only another epoch distinguishes it from
            # the next transaction.
            return (yield from self._init(identity))
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            committed=committed,
        )
        response = yield from self._persist(request, 5 if self._new else 4, lambda response: response.error_code)
        if response is None or response.error_code:
            return None
        account.reported = End.COMMIT if committed else End.ABORT
        return ProducerIdentity(response.producer_id, response.producer_epoch) if self._new else identity
