from __future__ import annotations

from barnabas.coordinators.share import refusal
from barnabas.coordinators.share.effects import PruneLog
from barnabas.coordinators.share.machine import STATE_BATCHES_MAX
from barnabas.coordinators.share.persister import NO_START_OFFSET, UNKNOWN_COUNT, SharePartitionKey, ShareState, ShareSummary, StateBatch
from barnabas.coordinators.share.settings import ShareCoordinatorSettings
from barnabas.model.errors import ErrorCode
from barnabas.wire.metadata_records import RemoveTopicRecord
from tests.unit.coordinators.share.desk import KEY, OTHER_TOPIC, TOPIC, UNKNOWN_TOPIC, Desk
from tests.unit.metadata.made import after

NEIGHBOUR = SharePartitionKey("g", TOPIC, 1)
ELSEWHERE = SharePartitionKey("g", OTHER_TOPIC, 0)
QUICK = ShareCoordinatorSettings(updates_per_snapshot=3, cold_snapshot_ms=1_000, prune_ms=10_000)


def test_a_share_partition_must_be_initialized_before_it_is_read_or_written() -> None:
    desk = Desk()
    assert desk.read() == refusal.READ_UNINITIALIZED
    assert desk.write((0, 9, 2, 1)) == refusal.WRITE_UNINITIALIZED
    assert desk.summary() == ShareSummary(0, 0, NO_START_OFFSET, UNKNOWN_COUNT)
    assert desk.delete() == ErrorCode.NONE
    assert not desk.records()


def test_an_initialized_share_partition_starts_at_the_given_offset() -> None:
    desk = Desk()
    assert desk.initialize(state_epoch=7, start_offset=40) == ErrorCode.NONE
    assert desk.read() == ShareState(7, 40, ())
    assert desk.summary() == ShareSummary(state_epoch=7, leader_epoch=0, start_offset=40, delivery_complete_count=0)
    assert desk.kinds() == ["snapshot"]


def test_without_a_start_offset_the_count_of_delivered_records_is_unknown() -> None:
    desk = Desk()
    desk.initialize(start_offset=NO_START_OFFSET)
    assert desk.summary() == ShareSummary(1, 0, NO_START_OFFSET, UNKNOWN_COUNT)


def test_writes_add_up_and_survive_a_reload() -> None:
    desk = Desk()
    desk.initialize()
    assert desk.write((0, 9, 2, 1), (10, 19, 0, 1), delivery_complete_count=10) == ErrorCode.NONE
    assert desk.write((15, 19, 2, 2), start_offset=10, delivery_complete_count=5) == ErrorCode.NONE
    expected = ShareState(1, 10, (StateBatch(10, 14, 0, 1), StateBatch(15, 19, 2, 2)))
    assert desk.read() == expected
    before = dict(desk.machine.states)
    desk.reload()
    assert desk.machine.states == before
    assert desk.read() == expected
    assert desk.kinds() == ["snapshot", "update", "update"]


def test_a_read_with_a_newer_leader_epoch_fences_older_leaders() -> None:
    desk = Desk()
    desk.initialize()
    assert desk.read(leader_epoch=5) == ShareState(1, 0, ())
    assert desk.read(leader_epoch=4) == refusal.FENCED_LEADER
    assert desk.write((0, 9, 2, 1), leader_epoch=4) == refusal.FENCED_LEADER
    assert desk.write((0, 9, 2, 1), leader_epoch=5) == ErrorCode.NONE
    assert desk.write((10, 19, 2, 1), leader_epoch=-1) == ErrorCode.NONE
    assert desk.summary() == ShareSummary(1, 5, 0, 0)
    desk.reload()
    assert desk.read(leader_epoch=4) == refusal.FENCED_LEADER


def test_a_read_with_the_known_leader_epoch_writes_nothing() -> None:
    desk = Desk()
    desk.initialize()
    desk.read(leader_epoch=5)
    desk.read(leader_epoch=5)
    assert desk.kinds() == ["snapshot", "update"]


def test_a_write_does_not_raise_the_leader_epoch() -> None:
    desk = Desk()
    desk.initialize()
    assert desk.write((0, 9, 2, 1), leader_epoch=9) == ErrorCode.NONE
    assert desk.summary() == ShareSummary(1, 0, 0, 0)
    assert desk.write((0, 9, 2, 1), leader_epoch=3) == ErrorCode.NONE


def test_an_older_state_epoch_is_fenced_and_a_newer_one_discards_the_state() -> None:
    desk = Desk()
    desk.initialize(state_epoch=5)
    desk.write((0, 9, 2, 1), state_epoch=5)
    assert desk.write((0, 9, 2, 1), state_epoch=4) == refusal.FENCED_STATE
    assert desk.write((0, 9, 2, 1), state_epoch=-1) == ErrorCode.NONE
    assert desk.initialize(state_epoch=4) == refusal.FENCED_STATE
    assert desk.initialize(state_epoch=6, start_offset=3) == ErrorCode.NONE
    assert desk.read() == ShareState(6, 3, ())
    assert desk.machine.states[KEY].snapshot_epoch == 1


def test_topics_and_partitions_that_do_not_exist_are_unknown() -> None:
    desk = Desk()
    for key in (SharePartitionKey("g", UNKNOWN_TOPIC, 0), SharePartitionKey("g", TOPIC, 2)):
        assert desk.initialize(key) == refusal.UNKNOWN_PARTITION
        assert desk.summary(key) == refusal.UNKNOWN_PARTITION
        assert desk.delete(key) == refusal.UNKNOWN_PARTITION
    negative = SharePartitionKey("g", TOPIC, -1)
    for answer in (desk.initialize(negative), desk.read(negative), desk.write(key=negative), desk.summary(negative), desk.delete(negative)):
        assert answer == refusal.NEGATIVE_PARTITION


def test_a_batch_that_ends_before_it_begins_is_refused() -> None:
    desk = Desk()
    desk.initialize()
    desk.write((5, 20, 0, 1))
    assert desk.write((10, 5, 2, 2)) == refusal.REVERSED_BATCH


def test_a_share_partition_has_a_bounded_number_of_batches() -> None:
    desk = Desk()
    desk.initialize()
    answer = desk.write(*[(2 * number, 2 * number, 2, 1) for number in range(STATE_BATCHES_MAX + 1)])
    assert isinstance(answer, refusal.Refusal)
    assert answer.code == ErrorCode.INVALID_REQUEST


def test_enough_updates_are_followed_by_a_snapshot_of_the_same_state() -> None:
    desk = Desk(QUICK)
    desk.initialize()
    for number in range(8):
        desk.write((number, number, 2, 1), delivery_complete_count=number)
    assert desk.kinds() == ["snapshot", *["update"] * 3, "snapshot", *["update"] * 3, "snapshot"]
    assert desk.read() == ShareState(1, 0, (StateBatch(0, 7, 2, 1),))
    before = dict(desk.machine.states)
    desk.reload()
    assert desk.machine.states == before


def test_without_updates_between_snapshots_every_write_is_one() -> None:
    desk = Desk(ShareCoordinatorSettings(updates_per_snapshot=0))
    desk.initialize()
    desk.write((0, 0, 2, 1))
    assert desk.kinds() == ["snapshot", "snapshot"]


def test_a_deleted_state_is_gone_after_a_reload_too() -> None:
    desk = Desk()
    desk.initialize()
    desk.read(leader_epoch=5)
    assert desk.delete() == ErrorCode.NONE
    desk.reload()
    assert desk.read() == refusal.READ_UNINITIALIZED
    assert desk.initialize(state_epoch=0) == ErrorCode.NONE
    assert desk.read(leader_epoch=0) == ShareState(0, 0, ())


def test_the_state_of_a_deleted_topic_is_deleted() -> None:
    desk = Desk()
    for key in (KEY, NEIGHBOUR, ELSEWHERE):
        desk.initialize(key)
    desk.delete_topic()
    desk.wait(0)
    assert list(desk.machine.states) == [ELSEWHERE]
    assert desk.kinds()[3:] == ["tombstone", "tombstone"]


def test_a_refused_tombstone_of_a_deleted_topic_is_written_later() -> None:
    desk = Desk(QUICK)
    desk.initialize()
    desk.log.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    desk.delete_topic()
    desk.wait(0)
    assert list(desk.machine.states) == [KEY]
    desk.log.refusal = ErrorCode.NONE
    desk.wait(QUICK.prune_ms)
    assert not desk.machine.states


def test_a_new_leader_deletes_the_state_of_a_topic_that_was_deleted_without_a_leader() -> None:
    desk = Desk()
    desk.initialize()
    desk.initialize(ELSEWHERE)
    desk.image = after([RemoveTopicRecord(topic_id=TOPIC)], desk.image)
    desk.reload()
    desk.wait(0)
    assert list(desk.machine.states) == [ELSEWHERE]


def test_records_below_the_oldest_needed_snapshot_are_pruned() -> None:
    desk = Desk(QUICK)
    desk.initialize()
    desk.initialize(NEIGHBOUR)
    for _ in range(4):
        desk.write((0, 9, 2, 1))
    desk.write((0, 9, 2, 1), key=NEIGHBOUR)
    assert desk.kinds() == ["snapshot", "snapshot", "update", "update", "update", "snapshot", "update"]
    desk.wait(QUICK.prune_ms)
    # Both share partitions got a cold snapshot before the pruning.
    (effect,) = desk.effects
    assert effect.before_offset >= 6
    before = dict(desk.machine.states)
    desk.reload()
    assert {key: state.batches for key, state in desk.machine.states.items()} == {key: state.batches for key, state in before.items()}


def test_one_needed_snapshot_at_the_start_prevents_pruning() -> None:
    desk = Desk(ShareCoordinatorSettings(updates_per_snapshot=1, prune_ms=1_000))
    desk.initialize()
    desk.initialize(NEIGHBOUR)
    for _ in range(4):
        desk.write(key=NEIGHBOUR)
    desk.wait(1_000)
    assert not desk.effects
    desk.delete()
    desk.wait(1_000)
    assert desk.effects == [PruneLog(5)]
    desk.wait(10_000)
    assert len(desk.effects) == 1


def test_a_shard_without_states_is_pruned_up_to_its_last_tombstone() -> None:
    desk = Desk(QUICK)
    desk.initialize()
    desk.write()
    desk.delete()
    desk.wait(QUICK.prune_ms)
    assert desk.effects == [PruneLog(2)]


def test_a_share_partition_at_rest_gets_a_cold_snapshot_while_others_change() -> None:
    desk = Desk(QUICK)
    desk.initialize()
    desk.initialize(NEIGHBOUR)
    desk.wait(QUICK.cold_snapshot_ms)
    assert desk.kinds()[2:] == ["snapshot", "snapshot"]
    # All are at rest now, so nothing more is written.
    desk.wait(5 * QUICK.cold_snapshot_ms)
    assert len(desk.records()) == 4
    desk.write()
    desk.wait(QUICK.cold_snapshot_ms)
    assert desk.kinds()[4:] == ["update", "snapshot", "snapshot"]
    state = desk.machine.states[NEIGHBOUR]
    assert state.snapshot_epoch == 2
    assert state.write_ms > state.create_ms


def test_no_answer_is_given_before_the_commit() -> None:
    desk = Desk()
    desk.initialize()
    desk.log.lagging = True
    written = desk.run(
        lambda machine, now_ms: machine.write(
            KEY, state_epoch=1, leader_epoch=0, start_offset=5, delivery_complete_count=0, batches=(), now_ms=now_ms
        )
    )
    read = desk.run(lambda machine, now_ms: machine.read(KEY, leader_epoch=0, now_ms=now_ms))
    assert not written.done
    assert not read.done
    desk.log.catch_up()
    assert written.value == ErrorCode.NONE
    assert read.value == ShareState(1, 5, ())
