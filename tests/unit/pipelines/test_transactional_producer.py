"""A transactional producer whose records wait for a new leader, or whose offsets wait for a dead
coordinator."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from barnabas.pipelines.transactional_producer import OffsetsLost, flush, send_offsets


class Waiting:
    """A producer whose records leave after some answers about leaders."""

    def __init__(self, answers: int, *, fails: bool = False) -> None:
        self.left = answers
        self.fails = fails
        self.asked: list[str] = []

    def flush(self, _: float) -> int:
        return self.left

    def list_topics(self, topic: str, _: float) -> None:
        self.asked.append(topic)
        if self.fails:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        self.left = max(0, self.left - 1)


def test_a_flush_that_ends_at_once_asks_for_no_leader() -> None:
    producer = Waiting(0)
    flush(producer, ["t"])
    assert producer.asked == []


def test_a_flush_asks_for_leaders_until_its_records_have_left() -> None:
    producer = Waiting(2)
    flush(producer, ["t"])
    assert producer.asked == ["t", "t"]


def test_a_flush_that_gets_no_answer_leaves_its_records_to_the_commit() -> None:
    producer = Waiting(1, fails=True)
    flush(producer, ["t", "u"])
    assert 0 < len(producer.asked) <= 10
    assert set(producer.asked) == {"t"}


class Sending:
    """A producer that does something when it gets offsets."""

    def __init__(self, deed: Callable[[], object]) -> None:
        self._deed = deed
        self.sent: list[Any] = []

    def send_offsets_to_transaction(self, offsets: list[TopicPartition], group: object, _: float) -> None:
        self._deed()
        self.sent.append((offsets, group))


def test_offsets_are_sent_before_the_call_ends() -> None:
    producer, offsets = Sending(lambda: None), [TopicPartition("t", 0, 5)]
    send_offsets(producer, offsets, "group")
    assert producer.sent == [(offsets, "group")]


def test_a_refusal_of_offsets_is_raised() -> None:
    def refuse() -> None:
        raise KafkaException(KafkaError(KafkaError.INVALID_PRODUCER_EPOCH))

    with pytest.raises(KafkaException, match="INVALID_PRODUCER_EPOCH") as raised:
        send_offsets(Sending(refuse), [], "group")
    assert not isinstance(raised.value, OffsetsLost)


def test_offsets_that_nothing_answers_are_given_up() -> None:
    answer = Event()
    with pytest.raises(OffsetsLost, match=r"did not take the offsets within 0\.01 seconds"):
        send_offsets(Sending(answer.wait), [], "group", 0.01)
    answer.set()
