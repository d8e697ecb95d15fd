"""The copiers themselves make no mistake that the tests would blame on the broker."""

from __future__ import annotations

import time

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError

from tests.cluster.copier import parsed, starts
from tests.cluster.copiers import HANG_MARGIN_SECONDS, Call


def test_a_partition_without_a_committed_offset_starts_at_its_beginning() -> None:
    assert starts([(0, OFFSET_INVALID, None), (1, 69, None)]) == {0: 0, 1: 69}


def test_an_error_in_one_partition_gives_no_start_for_any() -> None:
    unstable = KafkaError(KafkaError.UNSTABLE_OFFSET_COMMIT)
    assert starts([(0, OFFSET_INVALID, unstable), (1, 69, None)]) is None


def test_a_consumer_that_has_not_joined_names_no_member() -> None:
    consumer = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "copiers", "log_level": 0})
    try:
        assert parsed(consumer.consumer_group_metadata()) == (-1, "")
    finally:
        consumer.close()


def test_a_call_hangs_when_its_own_limit_and_a_margin_have_passed() -> None:
    now = time.monotonic()
    assert not Call("commit_transaction", 30, now - 31).overdue()
    assert Call("commit_transaction", 30, now - 31 - HANG_MARGIN_SECONDS).overdue()
