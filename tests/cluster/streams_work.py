"""The work of ``StreamsApplication.java``: its input, and the results that a plain computation
finds for it.

Nothing is cached in the application, so each result topic has one record for every change. Exactly
once means: for each key the counts 1, 2, 3... in this order, each of them once, and one joined
record for each line.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from tests.cluster.access import Access
from tests.waiting import LONG_PATIENCE_SECONDS, PATIENCE_SECONDS, until

PARTITIONS = 3
INPUTS, RESULTS = ("lines", "cities"), ("word-counts", "joined", "windowed")
USERS, WORDS, CITIES = 11, 17, 5
_BEGIN_MS = 1_700_000_000_000
_BETWEEN_LINES_MS = 37
_WINDOW_MS = 10_000
_PASSING = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT)


def city_of(user: str) -> str:
    return f"city-{int(user.removeprefix('user-')) % CITIES}"


def line(number: int) -> tuple[str, str, int]:
    """The user, the words and the time of a line."""
    words = (number % WORDS, (number * number) % WORDS, (number // 7) % WORDS)
    return f"user-{number % USERS}", " ".join(f"word-{each}" for each in words), _BEGIN_MS + number * _BETWEEN_LINES_MS


class Feed:
    """Lines that were sent, and will be delivered whatever happens to brokers."""

    def __init__(self, access: Access) -> None:
        self.sent = 0
        self._errors: list[str] = []
        self._producer = Producer(
            {**access.librdkafka, "enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": 300_000, "log_level": 2}
        )
        for number in range(USERS):
            user = f"user-{number}"
            self._send("cities", user, city_of(user), _BEGIN_MS - 1)
        self.flush()

    def _send(self, topic: str, key: str, value: str, timestamp_ms: int) -> None:
        self._producer.produce(topic, value, key=key, timestamp=timestamp_ms, on_delivery=self._delivered)

    def _delivered(self, error: KafkaError | None, _: object) -> None:
        if error is not None:
            self._errors.append(str(error))

    def send(self, count: int) -> None:
        for number in range(self.sent, self.sent + count):
            user, words, timestamp_ms = line(number)
            self._send("lines", user, words, timestamp_ms)
            self._producer.poll(0)
        self.sent += count

    def flush(self) -> None:
        assert self._producer.flush(PATIENCE_SECONDS) == 0
        assert not self._errors, self._errors[:5]


def expected_sizes(lines: int) -> dict[str, int]:
    return {"word-counts": 3 * lines, "joined": lines, "windowed": lines}


def expected(lines: int) -> tuple[Counter[str], Counter[tuple[str, str]], Counter[str]]:
    """The last count of each word, the joined records, and the last count of each window."""
    words: Counter[str] = Counter()
    joined: Counter[tuple[str, str]] = Counter()
    windows: Counter[str] = Counter()
    for number in range(lines):
        user, said, timestamp_ms = line(number)
        words.update(said.split(" "))
        joined[user, f"{city_of(user)}: {said}"] += 1
        windows[f"{user}@{timestamp_ms - timestamp_ms % _WINDOW_MS}"] += 1
    return words, joined, windows


class Results:
    """Everything that finished transactions have written."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self.records: dict[str, list[tuple[str, str]]] = {topic: [] for topic in RESULTS}

    def await_size(self, lines: int, told: object) -> None:
        """Until each result has as many records as the lines have. More are found by the check."""
        wanted = expected_sizes(lines)

        def sizes() -> dict[str, int]:
            self._read()
            return {topic: len(records) for topic, records in self.records.items()}

        until(
            lambda: all(size >= wanted[topic] for topic, size in sizes().items()),
            f"the results of {lines} lines are there",
            seen=lambda: (sizes(), told() if callable(told) else told),
            seconds_max=LONG_PATIENCE_SECONDS,
            pause_seconds=0.5,
        )

    def _read(self) -> None:
        """From the beginning, because a reader that loses its broker in between tells nothing."""
        for topic in RESULTS:
            self.records[topic] = list(_committed(self._access, topic))

    def check(self, lines: int) -> None:
        words, joined, windows = expected(lines)
        assert Counter(self.records["joined"]) == joined
        for topic, counts in (("word-counts", words), ("windowed", windows)):
            seen: dict[str, list[int]] = defaultdict(list)
            for key, count in self.records[topic]:
                seen[key].append(int(count))
            assert seen.keys() == counts.keys(), topic
            wrong = {key: counted for key, counted in seen.items() if counted != list(range(1, counts[key] + 1))}
            assert not wrong, f"{topic}: {list(wrong.items())[:3]}"


def _committed(access: Access, topic: str) -> Iterator[tuple[str, str]]:
    consumer = Consumer(
        {
            **access.librdkafka,
            "group.id": "unused",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 2,
        }
    )
    try:
        for partition in range(PARTITIONS):
            consumer.assign([TopicPartition(topic, partition, 0)])
            while True:
                message = consumer.poll(1.0)
                error = message.error() if message is not None else None
                if error is not None and error.code() == KafkaError._PARTITION_EOF:
                    break
                assert error is None or error.code() in _PASSING, error
                if message is not None and error is None:
                    yield _text(message.key()), _text(message.value())
    finally:
        consumer.close()


def _text(data: str | bytes | None) -> str:
    assert isinstance(data, bytes)
    return data.decode()
