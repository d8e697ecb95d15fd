"""The flush of a transactional producer whose records wait for a new leader."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from barnabas.pipelines.transactional_producer import flush


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
