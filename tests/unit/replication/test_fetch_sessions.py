"""Incremental fetch sessions (KIP-227), rule by rule."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.replication.fetch_sessions import (
    EVICTION_MS,
    SESSION_PARTITIONS_MAX,
    FetchContext,
    FetchedPartition,
    FetchSessions,
    PartitionKey,
)
from barnabas.replication.reads import PartitionRead
from barnabas.storage.leader_epochs import EpochStart
from barnabas.storage.regions import FileRegion
from tests.unit.replication.made import World

NEWS = PartitionRead(ErrorCode.NONE, 5, 5, 0)


class Counting:
    """Entropy that counts up, so that session ids are 1, 2, 3."""

    def __init__(self, *first: int) -> None:
        self._first = list(first)
        self._next = 0

    def bytes(self, size: int) -> bytes:
        return bytes(size)

    def below(self, bound: int) -> int:
        if self._first:
            return self._first.pop(0)
        self._next += 1
        return self._next


def asked(topic: str = "t", index: int = 0, *, offset: int = 0, topic_id: Uuid = ZERO_UUID) -> FetchedPartition:
    return FetchedPartition(
        PartitionKey(topic, topic_id, index), fetch_offset=offset, size_bytes_max=100, current_leader_epoch=-1, last_fetched_epoch=-1
    )


class Desk:
    def __init__(self, slots: int = 3, *ids: int) -> None:
        self.sessions = FetchSessions(slots, Counting(*ids))
        self.now_ms = 1000

    def begin(
        self, session_id: int, epoch: int, *named: FetchedPartition, forget: tuple[PartitionKey, ...] = (), by_id: bool = False
    ) -> FetchContext | ErrorCode:
        return self.sessions.begin(
            session_id=session_id, epoch=epoch, named=list(named), forgotten=forget, uses_topic_ids=by_id, now_ms=self.now_ms
        )

    def served(self, session_id: int, epoch: int, *named: FetchedPartition, forget: tuple[PartitionKey, ...] = ()) -> FetchContext:
        context = self.begin(session_id, epoch, *named, forget=forget)
        assert isinstance(context, FetchContext)
        return context

    def open(self, *named: FetchedPartition) -> int:
        return self.served(0, 0, *(named or (asked(),))).session_id


def keys(context: FetchContext) -> list[tuple[str, int]]:
    return [(each.topic, each.index) for each in context.partitions]


# -- opening and closing ----------------------------------------------------------------------


def test_a_full_request_opens_a_session_and_is_answered_in_full() -> None:
    desk = Desk()
    context = desk.served(0, 0, asked("a"), asked("b"))
    assert (context.session_id, context.incremental, keys(context)) == (1, False, [("a", 0), ("b", 0)])
    assert len(desk.sessions) == 1


def test_a_request_that_wants_no_session_gets_none() -> None:
    """Epoch -1: versions before 7 mean it, and clients send it to close a session that they do not
    have."""
    desk = Desk()
    context = desk.served(0, -1, asked())
    assert (context.session_id, context.incremental, len(desk.sessions)) == (0, False, 0)


def test_incremental_requests_count_up_and_name_only_what_changed() -> None:
    desk = Desk()
    session = desk.open(asked("a"), asked("b"))
    context = desk.served(session, 1)
    assert (context.session_id, context.incremental, keys(context)) == (session, True, [("a", 0), ("b", 0)])
    context = desk.served(session, 2, asked("b", offset=9), asked("c"))
    assert [(each.topic, each.fetch_offset) for each in context.partitions] == [("a", 0), ("b", 9), ("c", 0)]
    context = desk.served(session, 3, forget=(PartitionKey("a", ZERO_UUID, 0), PartitionKey("never", ZERO_UUID, 0)))
    assert keys(context) == [("b", 0), ("c", 0)]


def test_the_epoch_after_the_largest_is_1_because_0_means_something_else() -> None:
    desk = Desk()
    desk.open()
    (session,) = desk.sessions
    session.epoch = 2**31 - 1
    desk.served(session.session_id, 2**31 - 1)
    assert session.epoch == 1


@pytest.mark.parametrize("epoch", [2, 5, 2**31 - 1])
def test_an_epoch_that_is_not_the_next_is_refused_and_the_session_waits_for_the_right_one(epoch: int) -> None:
    desk = Desk()
    session = desk.open()
    assert desk.begin(session, epoch) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert isinstance(desk.begin(session, 1), FetchContext)
    assert desk.begin(session, 1) == ErrorCode.INVALID_FETCH_SESSION_EPOCH, "a request repeated is not the next"


def test_an_unknown_session_is_refused() -> None:
    desk = Desk()
    desk.open()
    assert desk.begin(77, 1) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert desk.begin(0, 1) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_names_and_ids_do_not_mix_in_one_session() -> None:
    desk = Desk()
    session = desk.open()
    assert desk.begin(session, 1, by_id=True) == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_the_final_epoch_closes_the_session_and_is_answered_in_full() -> None:
    desk = Desk()
    session = desk.open()
    context = desk.served(session, -1, asked("z"))
    assert (context.session_id, context.incremental, keys(context), len(desk.sessions)) == (0, False, [("z", 0)], 0)


def test_a_full_request_in_a_session_replaces_it_by_a_new_one() -> None:
    desk = Desk()
    first = desk.open(asked("a"))
    second = desk.served(first, 0, asked("b")).session_id
    assert second not in (0, first)
    assert desk.begin(first, 1) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert keys(desk.served(second, 1)) == [("b", 0)]


def test_an_id_is_neither_zero_nor_taken() -> None:
    desk = Desk(3, 5, 0, 5, 6)
    assert [desk.open(), desk.open()] == [5, 6]


def test_the_same_partition_by_two_ids_is_two_partitions() -> None:
    """The topic was deleted and created again under the same name."""
    desk = Desk()
    old, new = Uuid(b"o" * 16), Uuid(b"n" * 16)
    context = desk.sessions.begin(
        session_id=0, epoch=0, named=[asked("", topic_id=old), asked("", topic_id=new)], forgotten=(), uses_topic_ids=True, now_ms=0
    )
    assert isinstance(context, FetchContext)
    assert [each.topic_id for each in context.partitions] == [old, new]


def test_a_session_without_partitions_is_closed() -> None:
    desk = Desk()
    session = desk.open(asked("a"))
    context = desk.served(session, 1, forget=(PartitionKey("a", ZERO_UUID, 0),))
    assert (context.session_id, len(desk.sessions)) == (0, 0)


# -- room -------------------------------------------------------------------------------------


def test_without_room_a_full_request_is_served_without_a_session() -> None:
    desk = Desk(slots=2)
    assert [desk.open(), desk.open(), desk.open()] == [1, 2, 0]
    assert isinstance(desk.begin(1, 1), FetchContext)


def test_a_request_with_more_partitions_than_a_session_may_have_is_served_without_one() -> None:
    desk = Desk()
    many = [asked(index=index) for index in range(SESSION_PARTITIONS_MAX + 1)]
    context = desk.served(0, 0, *many)
    assert (context.session_id, len(context.partitions), context.incremental) == (0, len(many), False)
    assert desk.open(*many[:-1]) == 1


def test_a_session_that_grows_beyond_its_limit_is_closed() -> None:
    desk = Desk()
    session = desk.open(*[asked(index=index) for index in range(SESSION_PARTITIONS_MAX)])
    # Partitions that the session has already do not count again.
    assert isinstance(desk.begin(session, 1, asked(index=0)), FetchContext)
    assert desk.begin(session, 2, asked(index=SESSION_PARTITIONS_MAX)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(desk.sessions) == 0


def test_a_session_that_was_idle_for_long_makes_room() -> None:
    desk = Desk(slots=2)
    first, second = desk.open(), desk.open()
    desk.now_ms += EVICTION_MS - 1
    desk.served(first, 1)
    assert desk.open() == 0
    desk.now_ms += 1
    third = desk.open()
    assert third not in (0, first, second)
    assert desk.begin(second, 1) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert isinstance(desk.begin(first, 2), FetchContext)


def test_a_session_in_use_is_never_evicted_for_being_old() -> None:
    desk = Desk(slots=1)
    session = desk.open()
    for epoch in range(1, 10):
        desk.now_ms += EVICTION_MS - 1
        desk.served(session, epoch)
        assert desk.open() == 0


def test_a_cache_without_slots_opens_no_sessions() -> None:
    assert Desk(slots=0).open() == 0


def test_a_larger_session_takes_the_place_of_a_smaller_one_that_is_not_new() -> None:
    desk = Desk(slots=1)
    small = desk.open(asked("a"))
    desk.now_ms += EVICTION_MS // 2
    desk.served(small, 1)
    assert desk.open(asked("a"), asked("b")) == 0, "it was made only just now"
    desk.now_ms += EVICTION_MS // 2
    desk.served(small, 2)
    assert desk.open(asked("a"), asked("b")) != 0


# -- order ------------------------------------------------------------------------------------


def test_partitions_that_returned_data_move_behind_the_others() -> None:
    desk = Desk()
    session = desk.open(asked("a"), asked("b"), asked("c"))
    context = desk.served(session, 1)
    assert context.session is not None
    context.session.serve_last([context.partitions[0]])
    assert keys(desk.served(session, 2)) == [("b", 0), ("c", 0), ("a", 0)]
    # A partition that is named again keeps its place, and a forgotten partition does not come back.
    context = desk.served(session, 3, asked("c", offset=4), forget=(PartitionKey("b", ZERO_UUID, 0),))
    assert context.session is not None
    context.session.serve_last([asked("b")])
    assert keys(desk.served(session, 4)) == [("c", 0), ("a", 0)]


# -- changed partitions -----------------------------------------------------------------------


def test_an_incremental_answer_has_only_changed_partitions() -> None:
    partition = asked()
    assert partition.news(NEWS)
    assert not partition.news(NEWS)
    assert partition.news(NEWS._replace(high_watermark=6))
    assert not partition.news(NEWS._replace(high_watermark=6))
    assert partition.news(NEWS._replace(high_watermark=6, log_start_offset=2))
    assert not partition.news(NEWS._replace(high_watermark=6, log_start_offset=2))


def test_a_last_stable_offset_that_moves_alone_is_not_sent() -> None:
    """As in Kafka: it moves with an end marker, which moves the high watermark too."""
    partition = asked()
    partition.news(NEWS)
    assert not partition.news(NEWS._replace(last_stable_offset=1))


def test_records_are_always_sent() -> None:
    world = World()
    file = world.disk.open("/d0/file")
    partition = asked()
    partition.news(NEWS)
    for _ in range(2):
        assert partition.news(NEWS._replace(region=FileRegion(file, 0, 10)))


def test_diverging_epochs_are_always_sent() -> None:
    partition = asked()
    partition.news(NEWS)
    for _ in range(2):
        assert partition.news(NEWS._replace(diverging=EpochStart(1, 2)))


def test_the_answer_after_a_diverging_epoch_contains_the_high_watermark_again() -> None:
    """The follower truncated its log and ignored the rest of the answer."""
    partition = asked()
    partition.news(NEWS._replace(diverging=EpochStart(1, 2)))
    assert partition.news(NEWS)
    assert not partition.news(NEWS)


def test_a_new_leader_epoch_makes_the_answer_contain_the_high_watermark_again() -> None:
    """The follower dropped the answer that was in flight when it learned of the epoch."""
    partition = asked()
    partition.news(NEWS)
    newer = asked()
    newer.current_leader_epoch = 1
    partition.take(newer)
    assert partition.news(NEWS)
    partition.take(newer)
    assert not partition.news(NEWS)


def test_an_error_is_sent_every_time_and_so_is_its_end() -> None:
    partition = asked()
    partition.news(NEWS)
    for _ in range(2):
        assert partition.news(PartitionRead(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    assert partition.news(NEWS), "healed, with the offsets it had before"
    assert not partition.news(NEWS)
