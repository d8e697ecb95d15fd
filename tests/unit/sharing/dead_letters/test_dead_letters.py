from __future__ import annotations

import asyncio

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.model.promise import Promise
from barnabas.records.record import Record, open_batch
from barnabas.replication.partition import Partition
from barnabas.sharing.core.acknowledging import AcknowledgedRange
from barnabas.sharing.core.settings import ShareGroupSettings
from barnabas.sharing.dead_letters.letter import letter
from tests.unit import simulated
from tests.unit.sharing.shared_world import LETTERS_ID, SharedWorld, offsets
from tests.unit.sharing.test_share_fetch import share_of

REJECT = 3
LOCK_MS = 1000
SETTINGS = ShareGroupSettings(
    auto_offset_reset="earliest", lock_duration_ms=LOCK_MS, delivery_count_limit=2, dead_letter_topic="dlq.t", dead_letters_copy=True
)


def letters_in(partition: Partition) -> list[Record]:
    return [record for _, batch in partition.log.batches(0, partition.log.log_end_offset) for record in open_batch(batch)]


def text_headers(record: Record) -> dict[str, str]:
    return {name: (value or b"").decode() for name, value in record.headers}


def reject(world: SharedWorld, first: int, last: int) -> ErrorCode:
    verdict = share_of(world).acknowledge("a", [AcknowledgedRange(first, last, [REJECT])])
    assert isinstance(verdict, Promise)
    return verdict.value.error


def with_topic(world: SharedWorld) -> Partition:
    world.metadata.create("dlq.t")
    return world.disk.partition("dlq.t", topic_id=LETTERS_ID)


def test_a_rejected_record_becomes_a_letter_that_says_where_it_comes_from() -> None:
    async def scenario() -> None:
        world = SharedWorld(SETTINGS)
        world.partition(records=[3])
        topic = with_topic(world)
        world.fetch("a")
        assert reject(world, 1, 2) is ErrorCode.NONE
        first, second = letters_in(topic)
        assert first.value == b"value"
        assert text_headers(first) == {
            "__dlq.errors.topic": "t",
            "__dlq.errors.partition": "0",
            "__dlq.errors.offset": "1",
            "__dlq.errors.group": "group",
            "__dlq.errors.delivery.count": "1",
            "__dlq.errors.message": "The record was rejected by a member of the share group.",
        }
        assert text_headers(second)["__dlq.errors.offset"] == "2"
        assert world.persister.kept[world.key()].offsets == {1: (4, 1), 2: (4, 1)}

    simulated.run(scenario())


def test_a_record_in_the_middle_of_its_batch_becomes_a_letter() -> None:
    async def scenario() -> None:
        world = SharedWorld(SETTINGS)
        world.partition(records=[5, 5])
        topic = with_topic(world)
        world.fetch("a")
        assert reject(world, 2, 3) is ErrorCode.NONE
        assert reject(world, 4, 6) is ErrorCode.NONE
        assert [text_headers(each)["__dlq.errors.offset"] for each in letters_in(topic)] == ["2", "3", "4", "5", "6"]

    simulated.run(scenario())


def test_a_letter_without_a_copy_has_only_headers() -> None:
    made = letter(
        Record(7, 1, b"key", b"value", (("own", b"header"),)),
        TopicPartition("t", 0),
        "g",
        delivery_count=5,
        message="why",
        copy=False,
        index=0,
        now_ms=9,
    )
    assert (made.key, made.value) == (None, None)
    assert "own" not in text_headers(made)
    assert text_headers(made)["__dlq.errors.delivery.count"] == "5"


def test_a_letter_of_a_letter_names_the_last_failure_only() -> None:
    made = letter(
        Record(7, 1, b"key", b"value", (("own", b"header"), ("__dlq.errors.offset", b"1"))),
        TopicPartition("t", 0),
        "g",
        delivery_count=5,
        message="why",
        copy=True,
        index=0,
        now_ms=9,
    )
    assert [name for name, _ in made.headers].count("__dlq.errors.offset") == 1
    assert text_headers(made)["own"] == "header"
    assert text_headers(made)["__dlq.errors.offset"] == "7"


def test_a_rejection_without_a_topic_for_letters_is_refused_and_the_record_stays_locked() -> None:
    async def scenario() -> None:
        world = SharedWorld(SETTINGS)
        world.partition(records=[3])
        world.fetch("a")
        assert reject(world, 0, 2) is ErrorCode.UNKNOWN_SERVER_ERROR
        assert world.persister.kept[world.key()].offsets == {}
        with_topic(world)
        assert reject(world, 0, 2) is ErrorCode.NONE

    simulated.run(scenario())


def test_a_record_at_the_delivery_limit_waits_for_its_letter() -> None:
    async def scenario() -> None:
        world = SharedWorld(SETTINGS)
        world.partition(records=[3])
        world.fetch("a")
        await asyncio.sleep(1.1)
        assert offsets(world.fetch("b")) == [[(0, 2, 2)]]
        await asyncio.sleep(5)
        # The topic is missing: the records are neither archived nor delivered again.
        assert offsets(world.fetch("c")) == [[]]
        assert share_of(world).machine.start_offset == 0
        topic = with_topic(world)
        await asyncio.sleep(20)
        assert share_of(world).machine.start_offset == 3
        assert [text_headers(each)["__dlq.errors.offset"] for each in letters_in(topic)] == ["0", "1", "2"]

    simulated.run(scenario())


def test_a_topic_must_allow_letters_and_have_the_prefix() -> None:
    async def scenario() -> None:
        world = SharedWorld(SETTINGS)
        topics = world.shares.ports.dead_letters._topics
        source = TopicPartition("t", 3)
        assert "does not exist" in topics.partition_for("dlq.t", source)
        assert "must begin with 'dlq.'" in topics.partition_for("t", source)
        world.metadata.create("dlq.t", allows=False)
        assert "group.enable=true" in topics.partition_for("dlq.t", source)

    simulated.run(scenario())


def test_a_missing_topic_is_created_where_the_broker_allows_it() -> None:
    async def scenario() -> None:
        world = SharedWorld(SETTINGS)
        world.metadata.broker["errors.deadletterqueue.auto.create.topics.enable"] = "true"
        world.partition(records=[3])
        world.fetch("a")
        for _ in range(2):
            assert reject(world, 0, 2) is ErrorCode.UNKNOWN_SERVER_ERROR
        (request,) = world.metadata.submitted
        assert [(each.name, [(one.name, one.value) for one in each.configs]) for each in request.topics] == [
            ("dlq.t", [("errors.deadletterqueue.group.enable", "true")])
        ]

    simulated.run(scenario())
