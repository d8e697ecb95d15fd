"""Transactions whose end is decided, when another broker takes over their shard."""

from __future__ import annotations

from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from tests.unit.coordinators.transaction.desk import Desk

PARTITION = TopicPartition("a", 0)


def begun(desk: Desk, transactional_id: str) -> ProducerIdentity:
    producer = desk.init(transactional_id)
    assert isinstance(producer, ProducerIdentity)
    assert desk.add(transactional_id, producer, [PARTITION], version=0) == ErrorCode.NONE
    return producer


def test_a_takeover_writes_the_markers_of_transactions_that_were_prepared_before() -> None:
    desk = Desk()
    desk.end("t", begun(desk, "t"), committed=True, version=0)
    desk.reload()
    assert [(each.transactional_id, each.committed) for each in desk.effects] == [("t", True)]


def test_a_transaction_that_ends_right_after_a_takeover_has_one_writer_of_markers() -> None:
    """The request may come before the timer of the takeover. Two writers would repeat a marker,
    and the second could end the next transaction of the same producer epoch."""
    desk = Desk()
    before, after = begun(desk, "before"), begun(desk, "after")
    desk.end("before", before, committed=True, version=0)
    desk.reload(tick=False)
    desk.end("after", after, committed=False, version=0)
    assert [each.transactional_id for each in desk.effects] == ["after"]
    desk.runtime.tick(desk.now_ms)
    assert [each.transactional_id for each in desk.effects] == ["after", "before"]
