"""Compacted topics of librdkafka on a node that compacts all the time: survivors and clients."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from barnabas.records.batch_header import CODEC_MASK
from barnabas.records.compression import Codec
from barnabas.testing import EmbeddedBroker
from tests.conformance.compaction.on_disk import is_cleaned, survivors
from tests.conformance.compaction.workload import TRANSACTIONS, Written, live, make_topics, read_back, write_stage
from tests.waiting import until

# One that is not compressed, one that is, and one with transactions; the long run against Apache
# Kafka has all codecs.
TOPICS = ("none", "zstd", TRANSACTIONS)
STAGES = 2
Seen = dict[str, list[tuple[int, bytes | None, bytes | None]]]


class Cleaned:
    """A node whose topics were compacted while they were written and afterwards, and the records
    that were read before the last pass."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self.broker = broker
        self.data = Path(broker.data_dir)
        self.written = Written()
        started_ms = int(time.time() * 1000)
        make_topics(broker.bootstrap, TOPICS)
        for stage in range(STAGES):
            write_stage(broker.bootstrap, stage, self.written, started_ms, TOPICS)
        self.await_cleaned()
        self.before = {topic: read_back(broker.bootstrap, topic) for topic in TOPICS}
        # The retention time of the tombstones of the first passes is over after these stages.
        for stage in range(STAGES, STAGES + 2):
            write_stage(broker.bootstrap, stage, self.written, started_ms, TOPICS)
            self.await_cleaned()
        self.after = {topic: read_back(broker.bootstrap, topic) for topic in TOPICS}

    def await_cleaned(self) -> None:
        for topic in TOPICS:
            until(partial(is_cleaned, self.data, topic), f"{topic} is compacted")


@pytest.fixture(scope="module")
def cleaned() -> Iterator[Cleaned]:
    with EmbeddedBroker(process=True, config={"log.cleaner.backoff.ms": "50", "offsets.topic.num.partitions": "1"}) as broker:
        yield Cleaned(broker)
        assert broker.complaints == ""


@pytest.mark.parametrize("topic", TOPICS)
def test_the_last_value_of_every_key_is_read_and_no_aborted_one(cleaned: Cleaned, topic: str) -> None:
    assert live({key: value for _, key, value in cleaned.after[topic]}) == live(cleaned.written.last[topic])


@pytest.mark.parametrize("topic", TOPICS)
def test_a_compacted_log_has_one_record_for_each_key(cleaned: Cleaned, topic: str) -> None:
    active = max(int(path.stem) for path in (cleaned.data / f"{topic}-0").glob("*.log"))
    keys = [key for offset, key, _ in cleaned.after[topic] if offset < active]
    assert len(keys) == len(set(keys))
    assert len(keys) < len(cleaned.written.last[topic])


@pytest.mark.parametrize("topic", TOPICS)
def test_compaction_does_not_change_offsets(cleaned: Cleaned, topic: str) -> None:
    before, after = ({offset: (key, value) for offset, key, value in seen[topic]} for seen in (cleaned.before, cleaned.after))
    kept = before.keys() & after.keys()
    assert kept
    assert all(before[offset] == after[offset] for offset in kept)
    assert list(after) == sorted(after)


@pytest.mark.parametrize("topic", TOPICS)
def test_tombstones_are_removed_after_their_retention_time(cleaned: Cleaned, topic: str) -> None:
    early = [offset for offset, _, value in cleaned.before[topic] if value is None]
    assert early
    newest = max(offset for offset, *_ in cleaned.before[topic])
    late = [offset for offset, _, value in cleaned.after[topic] if value is None and offset <= newest]
    assert not late


def test_batches_keep_their_compression(cleaned: Cleaned) -> None:
    for topic, codec in (("none", Codec.NONE), ("zstd", Codec.ZSTD)):
        assert {each.attributes & CODEC_MASK for each in survivors(cleaned.data / f"{topic}-0") if each.records} == {codec}


def test_the_same_records_are_read_after_a_restart(cleaned: Cleaned) -> None:
    for end in (cleaned.broker.kill, cleaned.broker.stop):
        end()
        cleaned.broker.start()
        for topic in (TRANSACTIONS, "zstd"):
            assert read_back(cleaned.broker.bootstrap, topic) == cleaned.after[topic]
