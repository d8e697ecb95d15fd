"""A transactional producer, in the two ways in which clients work.

Transaction version 1, as librdkafka does it: partitions and the group join a transaction by
requests of their own, and the producer keeps its epoch from one transaction to the next. Only the
epoch distinguishes a late request from one of the next transaction. So when the response to a
request was lost, this producer asks for a new epoch before its next transaction (KIP-360).

Transaction version 2, as Java does it (KIP-890): a partition joins when it is produced to, the
group when its offsets are sent, and every transaction has an epoch of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.simulation.clients import ACKS_ALL, PRODUCE_MS, RETRIABLE
from barnabas.simulation.coordinator_client import OF_GROUPS, OF_TRANSACTIONS, PASSING, CoordinatorClient
from barnabas.simulation.group_member import Fenced, Membership
from barnabas.simulation.violations import Violation
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

# The last versions that clients of transaction version 1 send.
_PRODUCE_V1, _ADD_PARTITIONS_V1, _TXN_OFFSET_COMMIT_V1, _END_TXN_V1 = 11, 3, 4, 4

_FENCED = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_ID_MAPPING})
_TO_BE_ABORTED = frozenset({ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE})
_OUT_OF_GROUP = frozenset(
    {
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.GROUP_ID_NOT_FOUND,
    }
)
_NO_IDENTITY = ProducerIdentity(-1, -1)


class ToBeAborted(Exception):
    """The transaction cannot commit; the next one may. ``refusal`` is the error code, if it came
    from the group's coordinator.
    """

    def __init__(self, code: ErrorCode, *, by_group: bool = False) -> None:
        super().__init__(code.name)
        self.refusal = code if by_group else None


class TransactionalProducer:
    def __init__(self, client: CoordinatorClient, transactional_id: str, *, implicit: bool, timeout_ms: int) -> None:
        """``implicit`` for transaction version 2. ``timeout_ms`` after which the coordinator aborts
        a transaction.
        """
        self._client = client
        self._id = transactional_id
        self._implicit = implicit
        self._timeout_ms = timeout_ms
        self._identity = _NO_IDENTITY
        self._sequences: Counter[TopicPartition] = Counter()
        self._joined: set[TopicPartition] = set()
        self._uncertain = False
        """Whether a request of this epoch may still be in flight."""

    @property
    def identity(self) -> ProducerIdentity:
        return self._identity

    # -- requests to the coordinator of transactions

    async def _ask(
        self, what: str, request: Any, error_of: Any, allowed: frozenset[ErrorCode] = frozenset(), **options: Any
    ) -> tuple[ErrorCode, Any]:
        lost = self._client.lost
        code, answer = await self._client.ask_until_settled(OF_TRANSACTIONS, self._id, request, error_of, **options)
        self._note_lost(lost)
        return self._judged(what, code, allowed), answer

    def _judged(self, what: str, code: ErrorCode, allowed: frozenset[ErrorCode] = frozenset()) -> ErrorCode:
        if code is ErrorCode.NONE or code in allowed:
            return code
        if code in _FENCED:
            raise Fenced(f"{self._id} as {self._identity} gets {code.name} for {what}")
        if code in _TO_BE_ABORTED:
            raise ToBeAborted(code)
        if code in _OUT_OF_GROUP:
            raise ToBeAborted(code, by_group=True)
        raise Violation(f"{self._client.host.name} ({self._id} as {self._identity}) gets {code.name} for {what}")

    async def initialise(self) -> None:
        """For a new process: fences the process that had the transactional id before, and aborts
        its transaction.
        """
        self._identity = _NO_IDENTITY
        await self._renew()

    async def _renew(self) -> None:
        request = InitProducerIdRequest(
            transactional_id=self._id,
            transaction_timeout_ms=self._timeout_ms,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.producer_epoch,
        )
        _, answer = await self._ask("a producer id", request, lambda answer: answer.error_code, version_max=5)
        self._go_on_as(ProducerIdentity(answer.producer_id, answer.producer_epoch))
        self._uncertain = False

    def _note_lost(self, before: int) -> None:
        """Heartbeats that were lost meanwhile count too: an unnecessary new epoch does no harm."""
        self._uncertain |= self._client.lost != before

    def _go_on_as(self, identity: ProducerIdentity) -> None:
        if identity != self._identity:
            self._identity = identity
            self._sequences.clear()

    # -- one transaction

    async def begin(self) -> None:
        self._joined.clear()
        if not self._implicit and self._uncertain:
            await self._renew()

    async def send(self, partition: TopicPartition, values: Sequence[bytes]) -> None:
        """Returns when they are acknowledged."""
        if not self._implicit:
            await self._join(partition)
        now_ms = self._client.world.scheduler.now_ms
        batch = build_batch(
            [Record(index, now_ms, None, value) for index, value in enumerate(values)],
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.producer_epoch,
            base_sequence=self._sequences[partition],
            transactional=True,
        )
        lost = self._client.lost
        await self._deliver(partition, batch)
        self._note_lost(lost)
        self._joined.add(partition)
        self._sequences[partition] += len(values)

    async def _join(self, partition: TopicPartition) -> None:
        if partition in self._joined:
            return
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=self._identity.producer_id,
            v3_and_below_producer_epoch=self._identity.producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=partition.topic, partitions=[partition.partition])],
        )

        def error_of(answer: Any) -> int:
            code: int = answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            return code

        await self._ask(f"adding {partition}", request, error_of, version_max=_ADD_PARTITIONS_V1)

    async def _deliver(self, partition: TopicPartition, batch: bytearray) -> None:
        client = self._client
        while True:
            leader, topic_id = await client.leader_of(partition)
            data = TopicProduceData(
                name=partition.topic,
                topic_id=topic_id,
                partition_data=[PartitionProduceData(index=partition.partition, records=memoryview(bytes(batch)))],
            )
            request = ProduceRequest(transactional_id=self._id, acks=ACKS_ALL, timeout_ms=PRODUCE_MS, topic_data=[data])
            answer = await client.ask(leader, request, version_max=None if self._implicit else _PRODUCE_V1)
            code = answer if isinstance(answer, ErrorCode) else ErrorCode(answer.responses[0].partition_responses[0].error_code)
            if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                return
            if code in PASSING:
                if code not in RETRIABLE:
                    await client.pause()
                else:
                    await client.failed(partition, code, "a batch")
                continue
            self._judged(f"a batch in {partition}", code)

    async def send_offsets(self, group_id: str, topic: str, offsets: Mapping[int, int], metadata: str, member: Membership) -> None:
        if not self._implicit:
            adding = AddOffsetsToTxnRequest(
                transactional_id=self._id,
                producer_id=self._identity.producer_id,
                producer_epoch=self._identity.producer_epoch,
                group_id=group_id,
            )
            await self._ask("adding offsets", adding, lambda answer: answer.error_code)
        partitions = [
            TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=offset, committed_metadata=metadata)
            for partition, offset in offsets.items()
        ]
        request = TxnOffsetCommitRequest(
            transactional_id=self._id,
            group_id=group_id,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.producer_epoch,
            generation_id=member.generation,
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=partitions)],
        )

        def error_of(answer: Any) -> int:
            # One failed partition fails the transaction; the error of any of them will do.
            codes = [each.error_code for each in answer.topics[0].partitions]
            return next((code for code in codes if code), 0)

        lost = self._client.lost
        code, _ = await self._client.ask_until_settled(
            OF_GROUPS, group_id, request, error_of, version_max=None if self._implicit else _TXN_OFFSET_COMMIT_V1
        )
        self._note_lost(lost)
        self._judged(f"offsets of {group_id}", code)

    async def end(self, *, committed: bool) -> bool:
        """Whether it ended like that. Aborting a transaction that never began is no error."""
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.producer_epoch,
            committed=committed,
        )
        allowed = frozenset({ErrorCode.INVALID_TXN_STATE}) if not committed else frozenset()
        version_max = None if self._implicit else _END_TXN_V1
        code, answer = await self._ask("the end", request, lambda answer: answer.error_code, allowed, version_max=version_max)
        if code is ErrorCode.NONE and self._implicit:
            self._go_on_as(ProducerIdentity(answer.producer_id, answer.producer_epoch))
        return code is ErrorCode.NONE
