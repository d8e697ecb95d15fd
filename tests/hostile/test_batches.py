"""Invalid record batches in Produce requests: refused with Kafka's error code, and never in the
log.

The cases are those of ``tests/unit/records/refusals.py``; here they come over the wire, with
idempotent producers and with decompression bombs.
"""

from __future__ import annotations

import gzip
import itertools
import struct
from collections.abc import Callable
from functools import cache

import cramjam
import pytest
import zstandard

from barnabas.model.errors import ErrorCode
from barnabas.records.batch_header import ATTRIBUTES_LOW_BYTE_POSITION, HEADER_BYTES, TRANSACTIONAL_BIT
from barnabas.records.compression import Codec
from tests.hostile.conftest import Victim
from tests.scenarios.client import PRODUCE_BY_NAME, Client, batch_of, produce_request, records_in
from tests.unit.records.made import with_body, with_header
from tests.unit.records.refusals import CASES, Case

_names = itertools.count()
# Transactions have a test of their own, and the broker's clock judges timestamps, years after the
# clock of the cases.


def is_transactional(batch: bytes | bytearray) -> bool:
    return len(batch) > ATTRIBUTES_LOW_BYTE_POSITION and bool(batch[ATTRIBUTES_LOW_BYTE_POSITION] & TRANSACTIONAL_BIT)


# Without a transactional id in the request, nothing else of a transactional batch is checked.
PLAIN = [case for case in CASES if not case.config and not is_transactional(case.batch) and case.code != ErrorCode.INVALID_TIMESTAMP]
SHAPED = [case for case in CASES if case.config]


def new_topic(client: Client, configs: dict[str, str] | None = None) -> str:
    name = f"batches-{next(_names)}"
    client.create_topic(name, configs=configs)
    return name


def verdict(client: Client, topic: str, case: Case) -> None:
    before = client.end_offset(topic)
    answer = client.produce_batch(topic, 0, bytes(case.batch))
    assert answer.error_code == case.code
    if case.code:
        assert client.end_offset(topic) == before, "no part of it is in the log"
        assert answer.error_message
        assert tuple(error.batch_index for error in answer.record_errors) == case.records or not case.records


def test_every_batch_of_the_table_gets_its_verdict(victim: Victim) -> None:
    with victim.client() as client:
        topic = new_topic(client)
        for case in PLAIN:
            verdict(client, topic, case)


def test_batches_are_judged_by_their_topics_settings(victim: Victim) -> None:
    with victim.client() as client:
        for case in SHAPED:
            if "message.timestamp.before.max.ms" not in case.config:
                topic = new_topic(client, {name: str(value) for name, value in case.config.items()})
                verdict(client, topic, case)
                client.delete_topic(topic)


def test_a_null_and_an_empty_batch_are_refused(victim: Victim) -> None:
    with victim.client() as client:
        topic = new_topic(client)
        for batch in (None, b""):
            assert client.produce_batch(topic, 0, batch).error_code == ErrorCode.INVALID_RECORD


def test_a_flipped_bit_outside_the_leader_epoch_is_refused(victim: Victim) -> None:
    """The checksum covers everything behind it; the fields before it have checks of their own, or
    the broker overwrites them.
    """
    batch = bytes(batch_of([b"some value"], key=b"k"))
    with victim.client() as client:
        topic = new_topic(client)
        accepted = 0
        for bit in range(8 * len(batch)):
            flipped = bytearray(batch)
            flipped[bit // 8] ^= 1 << (bit % 8)
            if client.produce_batch(topic, 0, flipped).error_code == 0:
                accepted += 1
                # Only in the leader epoch, which the broker overwrites.
                assert 12 <= bit // 8 < 16
        assert accepted == 32
        assert client.values(topic) == [b"some value"] * 32


def test_a_batch_cut_at_any_byte_is_refused(victim: Victim) -> None:
    batch = bytes(batch_of([b"some value"] * 3))
    with victim.client() as client:
        topic = new_topic(client)
        for cut in range(len(batch)):
            assert client.produce_batch(topic, 0, batch[:cut]).error_code in (ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE)
        assert client.values(topic) == []


# -- compression


GIGABYTES = 2


# Frames of these three formats can be concatenated into one stream, so that a long one need not be
# compressed whole.


@cache
def zeros_gzip() -> bytes:
    return gzip.compress(bytes(1 << 26)) * (16 * GIGABYTES)


@cache
def zeros_zstd() -> bytes:
    return zstandard.ZstdCompressor().compress(bytes(1 << 26)) * (16 * GIGABYTES)


@cache
def zeros_lz4() -> bytes:
    return bytes(cramjam.lz4.compress(bytes(1 << 26))) * 4


def snappy_claiming(size_bytes: int) -> bytes:
    """One block of raw snappy with a preamble that claims this length."""
    preamble = bytearray()
    while size_bytes >= 0x80:
        preamble.append(size_bytes & 0x7F | 0x80)
        size_bytes >>= 7
    preamble.append(size_bytes)
    return bytes(preamble) + b"\x00a"


def xerial_claiming(size_bytes: int) -> bytes:
    return b"\x82SNAPPY\x00" + struct.pack(">iii", 1, 1, size_bytes) + b"abc"


BOMBS: dict[str, tuple[Codec, Callable[[], bytes]]] = {
    "gzip": (Codec.GZIP, zeros_gzip),
    "zstd": (Codec.ZSTD, zeros_zstd),
    "lz4": (Codec.LZ4, zeros_lz4),
    "gzip in gzip": (Codec.GZIP, lambda: gzip.compress(zeros_gzip())),
    "snappy of 4 GB": (Codec.SNAPPY, lambda: snappy_claiming(2**32 - 1)),
    "snappy of 2 GB": (Codec.SNAPPY, lambda: snappy_claiming(2**31 - 1)),
    "xerial of 2 GB": (Codec.SNAPPY, lambda: xerial_claiming(2**31 - 1)),
    "xerial of -1": (Codec.SNAPPY, lambda: xerial_claiming(-1)),
    "lz4 of the wrong frame": (Codec.LZ4, lambda: b"\x04\x22\x4d\x18" + b"\xff" * 100),
    "lz4 of the old frame": (Codec.LZ4, lambda: b"\x02\x21\x4c\x18" + bytes(100)),
    "zstd of a huge window": (Codec.ZSTD, lambda: b"\x28\xb5\x2f\xfd\x00\xff" + bytes(20)),
    "zstd of a huge content": (Codec.ZSTD, lambda: b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 8 + bytes(20)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_decompression_bomb_is_refused(victim: Victim, name: str) -> None:
    """Where a topic's settings make the broker open batches; elsewhere they stay closed."""
    codec, make = BOMBS[name]
    bomb = with_header(with_body(batch_of([b"x"]), make()), attributes=codec)
    assert len(bomb) < 10_000_000
    with victim.client() as client:
        for configs in ({"cleanup.policy": "compact"}, {"compression.type": "uncompressed"}, {"message.timestamp.before.max.ms": "1000"}):
            topic = new_topic(client, {**configs, "max.message.bytes": "10000000"})
            assert client.produce_batch(topic, 0, bomb).error_code == ErrorCode.INVALID_RECORD
            assert client.values(topic) == []
            client.delete_topic(topic)


@pytest.mark.parametrize("name", BOMBS)
def test_a_decompression_bomb_with_a_future_timestamp_is_refused(victim: Victim, name: str) -> None:
    codec, make = BOMBS[name]
    bomb = with_header(with_body(batch_of([b"x"]), make()), attributes=codec, max_timestamp=2**62)
    with victim.client() as client:
        topic = new_topic(client, {"max.message.bytes": "10000000"})
        assert client.produce_batch(topic, 0, bomb).error_code in (ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP)
        client.delete_topic(topic)


def test_zstd_before_version_7_is_refused(victim: Victim) -> None:
    with victim.client() as client:
        topic = new_topic(client)
        request = produce_request(topic, 0, batch_of([b"x"], codec=Codec.ZSTD))
        for version in range(3, 7):
            answer = client.ask(request, version).responses[0].partition_responses[0]
            assert answer.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        assert client.ask(request, 7).responses[0].partition_responses[0].error_code == 0


# -- producers


def numbered(sequence: int, *, producer_id: int = 4000, epoch: int = 0, count: int = 1) -> bytearray:
    return batch_of([b"x"] * count, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def test_sequences_with_gaps_and_old_epochs_are_refused(victim: Victim) -> None:
    with victim.client() as client:
        topic = new_topic(client)

        def outcome(batch: bytearray) -> tuple[int, int]:
            answer = client.produce_batch(topic, 0, batch)
            return answer.error_code, answer.base_offset

        assert outcome(numbered(0, count=3)) == (0, 0)
        assert outcome(numbered(5)) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
        assert outcome(numbered(2**31 - 1)) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
        assert outcome(numbered(3)) == (0, 3)
        # A retry gets the first response and is not in the log twice.
        assert outcome(numbered(3)) == (0, 3)
        assert outcome(numbered(0, count=3)) == (0, 0)
        assert outcome(numbered(0, epoch=2)) == (0, 4)
        assert outcome(numbered(1, epoch=1)) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)
        assert outcome(numbered(7, epoch=3)) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
        assert client.end_offset(topic) == 5


def test_transactional_batches_without_a_transaction_are_refused(victim: Victim) -> None:
    with victim.client() as client:
        topic = new_topic(client)
        batch = batch_of([b"x"], producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
        assert client.produce_batch(topic, 0, batch).error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_invented_producer_ids_cost_bounded_work(victim: Victim) -> None:
    """Thirty thousand producers with invented ids; each costs a little memory, until it expires."""
    with victim.client() as client:
        topic = new_topic(client)
        pipelined = 500
        for start in range(0, 30_000, pipelined):
            request = None
            for producer_id in range(start, start + pipelined):
                request = produce_request(topic, 0, numbered(0, producer_id=producer_id))
                client.send(request, PRODUCE_BY_NAME)
            for _ in range(pipelined):
                assert client.receive(request, PRODUCE_BY_NAME)[1].responses[0].partition_responses[0].error_code == 0
        assert client.end_offset(topic) == 30_000
        client.delete_topic(topic)


# -- where they go


@pytest.mark.parametrize("topic", ["__cluster_metadata", "", "..", "../t", "t\x00", "missing", "x" * 300])
@pytest.mark.parametrize("partition", [0, -1, 2**31 - 1])
def test_produce_to_an_invalid_partition_is_refused(victim: Victim, topic: str, partition: int) -> None:
    with victim.client() as client:
        answer = client.produce_batch(topic, partition, batch_of([b"x"]))
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert client.fetch(topic, partition).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not list(victim.data_dir.parent.glob("t-0"))


def test_timestamps_of_the_far_future_are_refused(victim: Victim) -> None:
    with victim.client() as client:
        topic = new_topic(client)
        for timestamp in (2**62, 2**63 - 1, 9_999_999_999_999):
            answer = client.produce_batch(topic, 0, batch_of([b"x"], timestamp=timestamp))
            assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
            assert [error.batch_index for error in answer.record_errors] == [0]
        client.produce_batch(topic, 0, batch_of([b"x"], timestamp=0))
        assert [record.timestamp for record in records_in(client.fetch(topic).records)] == [0]


def test_a_batch_of_the_largest_size_is_accepted_and_one_byte_more_refused(victim: Victim) -> None:
    with victim.client() as client:
        topic = new_topic(client)
        overhead = len(batch_of([bytes(1_000_000)])) - 1_000_000
        assert overhead > HEADER_BYTES
        assert client.produce_batch(topic, 0, batch_of([bytes(1_048_588 - overhead)])).error_code == 0
        assert client.produce_batch(topic, 0, batch_of([bytes(1_048_589 - overhead)])).error_code == ErrorCode.MESSAGE_TOO_LARGE
