"""Batches that a producer might send, the rules of their topic, and the expected verdicts.

Two tests share the table: the unit test compares our verdict with it, and the conformance test asks
Apache Kafka. Where ``kafka`` is set, Barnabas differs from Kafka on purpose, and ``why`` gives the
reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import (
    CONTROL_BIT,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    TRANSACTIONAL_BIT,
    TimestampType,
)
from barnabas.records.compression import Codec, compress
from barnabas.records.record import Record
from barnabas.records.validation import BatchRules
from tests.unit.records.made import NOW_MS, plain_batch, plain_records, with_body, with_header

HOUR_MS = 3_600_000
NONE, CORRUPT, INVALID = ErrorCode.NONE, ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD
SERVER_ERROR, BAD_TIME = ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.INVALID_TIMESTAMP
OURS = "a client's mistake is not a server error"


@dataclass(frozen=True)
class Case:
    name: str
    batch: bytes | bytearray
    code: ErrorCode = NONE
    records: tuple[int, ...] = ()  # the indexes of the records that the error names
    rules: BatchRules = field(default_factory=BatchRules)
    config: dict[str, Any] = field(default_factory=dict)  # the same rules as Kafka's settings
    kafka: ErrorCode | None = None
    why: str = ""

    def __str__(self) -> str:
        return self.name


def body_of(count: int = 3) -> bytes:
    return bytes(plain_batch(count)[HEADER_BYTES:])


def raw(*lines: str) -> bytes:
    return b"".join(bytes.fromhex(line) for line in lines)


def one_record(hexadecimal: str) -> bytearray:
    return with_body(plain_batch(1), raw(hexadecimal))


def many_records(count: int, damaged: int) -> bytearray:
    """Records of seven bytes, one of them with a wrong offset delta."""
    records = [bytes.fromhex("0e0000") + bytes([0x80 | (2 * n) & 0x7F, (2 * n) >> 7]) + bytes.fromhex("010100") for n in range(count)]
    records[damaged] = bytes.fromhex("0e0000 8001 010100")
    return with_body(with_header(plain_batch(1), last_offset_delta=count - 1, record_count=count), b"".join(records))


LOG_APPEND_TIME = BatchRules(timestamp_type=TimestampType.LOG_APPEND_TIME)
LOG_APPEND_TIME_CONFIG = {"message.timestamp.type": "LogAppendTime"}
COMPACTED = BatchRules(keys_required=True)
COMPACTED_CONFIG = {"cleanup.policy": "compact"}
DAY_OLD_AT_MOST = BatchRules(timestamp_before_ms_max=24 * HOUR_MS)
DAY_OLD_AT_MOST_CONFIG = {"message.timestamp.before.max.ms": 24 * HOUR_MS}
TO_ZSTD = BatchRules(codec=Codec.ZSTD, codec_level=3)
TO_ZSTD_CONFIG = {"compression.type": "zstd"}

mixed_keys = build_batch(
    [Record(0, NOW_MS, b"k", b""), Record(1, NOW_MS, None, b""), Record(2, NOW_MS, b"k", b""), Record(3, NOW_MS, None, b"")]
)
spread = [Record(n, NOW_MS + delta, b"k", b"v") for n, delta in enumerate((0, HOUR_MS, HOUR_MS + 1, -25 * HOUR_MS))]

CASES = [
    *(Case(f"{codec.name.lower()}", plain_batch(codec=codec)) for codec in Codec),
    # -- the frame
    Case("nothing at all", b"", INVALID),
    Case("sixteen bytes", bytes(16), CORRUPT),
    Case("a length of 14 and no more", bytes(11) + b"\x0e" + bytes(5), INVALID),
    Case("magic 3 and no more", bytes(11) + b"\x0e" + bytes(4) + b"\x03", CORRUPT),
    Case("magic 0", with_header(plain_batch(), magic=0), INVALID),
    Case("magic 1", with_header(plain_batch(), magic=1), INVALID),
    Case("magic 3", with_header(plain_batch(), magic=3), CORRUPT),
    Case("magic -1", with_header(plain_batch(), magic=-1), CORRUPT),
    Case("a length of 48", with_header(plain_batch(), batch_length=48), CORRUPT),
    Case("a length of -1", with_header(plain_batch(), batch_length=-1), CORRUPT),
    Case("a length of 2^31-1", with_header(plain_batch(), batch_length=2**31 - 1), INVALID, kafka=SERVER_ERROR, why="Kafka overflows"),
    Case("a byte too short", plain_batch()[:-1], INVALID),
    Case("a byte too long", plain_batch() + b"\x00", INVALID, kafka=NONE, why="Kafka drops what is no batch"),
    Case("two batches", plain_batch() + plain_batch(), INVALID),
    Case("a base offset of 1", with_header(plain_batch(), base_offset=1), INVALID),
    Case(
        "larger than max.message.bytes",
        plain_batch(),
        ErrorCode.MESSAGE_TOO_LARGE,
        rules=BatchRules(size_bytes_max=105),
        config={"max.message.bytes": 105},
    ),
    Case("as large as max.message.bytes", plain_batch(), rules=BatchRules(size_bytes_max=106), config={"max.message.bytes": 106}),
    Case("a wrong checksum", with_header(plain_batch(), crc=1), CORRUPT),
    Case("a leader epoch of its own", with_header(plain_batch(), leader_epoch=77)),
    # -- the header's claims about the records
    Case("more records than offsets", with_header(plain_batch(), record_count=4), INVALID),
    Case("fewer records than offsets", with_header(plain_batch(), record_count=2), INVALID),
    Case("no record", with_body(with_header(plain_batch(), record_count=0, last_offset_delta=-1), b""), INVALID),
    Case("no record at one offset", with_body(with_header(plain_batch(), record_count=0, last_offset_delta=0), b""), INVALID),
    Case("minus three records", with_header(plain_batch(), record_count=-3), INVALID),
    Case("a last offset delta of -1", with_header(plain_batch(), last_offset_delta=-1), INVALID),
    Case("two billion records", with_header(plain_batch(), record_count=2**31 - 1, last_offset_delta=2**31 - 2), INVALID),
    Case("a count that is off by one, and its delta too", with_header(plain_batch(), record_count=4, last_offset_delta=3), INVALID),
    Case("a count too small, and its delta too", with_header(plain_batch(), record_count=2, last_offset_delta=1), INVALID),
    Case("a control batch", with_header(plain_batch(), attributes=CONTROL_BIT), INVALID),
    Case(
        "a marker of a transaction",
        with_header(plain_batch(), attributes=CONTROL_BIT | TRANSACTIONAL_BIT, producer_id=1, producer_epoch=0),
        INVALID,
    ),
    Case("a producer without a sequence", with_header(plain_batch(), producer_id=5, producer_epoch=0), INVALID),
    Case(
        "a producer without an epoch",
        with_header(plain_batch(), producer_id=5, base_sequence=0),
        INVALID,
        kafka=NONE,
        why="an epoch of -1 would be written to the snapshot as no epoch at all",
    ),
    Case("a producer", with_header(plain_batch(), producer_id=5, producer_epoch=0, base_sequence=0)),
    Case("a transaction", build_batch(plain_records(2), producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)),
    Case(
        "a transaction without a producer",
        with_header(plain_batch(), attributes=TRANSACTIONAL_BIT),
        INVALID,
        kafka=NONE,
        why="no producer could ever end it",
    ),
    # -- the records of an uncompressed batch
    Case("a record with headers", build_batch([Record(0, NOW_MS, None, None, (("h", None), ("h", b"x")))])),
    Case("a key longer than its record", one_record("0c 00 00 00 40 01 00"), INVALID),
    Case("a key of length -2", one_record("0c 00 00 00 03 01 00"), INVALID, kafka=NONE, why="Kafka takes any negative length for null"),
    Case("a value longer than its record", one_record("0c 00 00 00 01 40 00"), INVALID),
    Case("a record longer than its batch", one_record("40 00 00 00 01 01 00"), INVALID),
    Case("a record of length -1", one_record("01 00 00 00 01 01 00"), INVALID),
    Case("a record of length 0", one_record("00 00 00 00 01 01 00"), INVALID),
    Case("a record shorter than its parts", one_record("0a 00 00 00 01 01 00"), INVALID),
    Case("bytes behind the last part of a record", one_record("0e 00 00 00 01 01 00 00"), INVALID),
    Case("bytes behind the last record", one_record("0c 00 00 00 01 01 00 00"), INVALID),
    Case("minus one headers", one_record("0c 00 00 00 01 01 01"), INVALID),
    Case("a thousand headers", one_record("0e 00 00 00 01 01 d0 0f"), INVALID),
    Case("a header without a name", one_record("10 00 00 00 01 01 02 01 01"), INVALID),
    Case("a header name that is not UTF-8", one_record("14 00 00 00 01 01 02 04 ff fe 00")),
    Case("a header value longer than its record", one_record("12 00 00 00 01 01 02 00 40 00"), INVALID),
    Case("a number of eleven bytes", one_record("0c 00 ff ff ff ff ff ff ff ff ff ff ff 01"), INVALID),
    Case("a null key in two bytes", one_record("0e 00 00 00 81 00 01 00")),
    Case("attributes of the future", one_record("0c 7f 00 00 01 01 00")),
    Case(
        "an offset delta that skips",
        many_records(4, 2),
        INVALID,
        (2,),
        kafka=NONE,
        why="Kafka numbers by counting and leaves the wrong delta for readers to find",
    ),
    Case("an offset delta that skips, behind the checked ones", many_records(20, 18)),
    # -- compressed
    *(
        Case(f"{codec.name.lower()} that is none", with_header(plain_batch(), attributes=codec), INVALID, kafka=SERVER_ERROR, why=OURS)
        for codec in (Codec.GZIP, Codec.LZ4, Codec.ZSTD)
    ),
    Case(
        "snappy that is none",
        with_header(plain_batch(), attributes=Codec.SNAPPY),
        NONE,
        kafka=SERVER_ERROR,
        why="bare snappy has no magic, and batches stay closed",
    ),
    Case("codec 5", with_header(plain_batch(), attributes=5), INVALID, kafka=SERVER_ERROR, why=OURS),
    Case("codec 7", with_header(plain_batch(), attributes=7), INVALID, kafka=SERVER_ERROR, why=OURS),
    Case(
        "zstd inside zstd",
        with_header(with_body(plain_batch(), compress(Codec.ZSTD, compress(Codec.ZSTD, body_of()))), attributes=Codec.ZSTD),
        NONE,
        kafka=INVALID,
        why="batches stay closed",
    ),
    # -- timestamps
    Case("an hour ahead", plain_batch(1, timestamp=NOW_MS + HOUR_MS)),
    Case("an hour and a millisecond ahead", plain_batch(1, timestamp=NOW_MS + HOUR_MS + 1), BAD_TIME, (0,)),
    Case("an hour and a millisecond ahead, compressed", plain_batch(1, timestamp=NOW_MS + HOUR_MS + 1, codec=Codec.LZ4), BAD_TIME, (0,)),
    Case("the year 10000", plain_batch(1, timestamp=253_402_300_800_000), BAD_TIME, (0,)),
    Case("some too far ahead", build_batch(spread), BAD_TIME, (2,)),
    Case("any age where none is forbidden", plain_batch(1, timestamp=0)),
    Case("no timestamp", plain_batch(1, timestamp=-1)),
    Case("a day old", plain_batch(1, timestamp=NOW_MS - 24 * HOUR_MS), rules=DAY_OLD_AT_MOST, config=DAY_OLD_AT_MOST_CONFIG),
    Case("older than a day", plain_batch(1, timestamp=NOW_MS - 24 * HOUR_MS - 1), BAD_TIME, (0,), DAY_OLD_AT_MOST, DAY_OLD_AT_MOST_CONFIG),
    Case("some too old, some too far ahead", build_batch(spread), BAD_TIME, (2, 3), DAY_OLD_AT_MOST, DAY_OLD_AT_MOST_CONFIG),
    Case("some too old, compressed", build_batch(spread, codec=Codec.GZIP), BAD_TIME, (2, 3), DAY_OLD_AT_MOST, DAY_OLD_AT_MOST_CONFIG),
    Case("no timestamp where age counts", plain_batch(1, timestamp=-1), rules=DAY_OLD_AT_MOST, config=DAY_OLD_AT_MOST_CONFIG),
    Case("append time by the broker", plain_batch(), rules=LOG_APPEND_TIME, config=LOG_APPEND_TIME_CONFIG),
    Case("append time by the broker, compressed", plain_batch(codec=Codec.SNAPPY), rules=LOG_APPEND_TIME, config=LOG_APPEND_TIME_CONFIG),
    Case(
        "a far future that the broker overwrites",
        plain_batch(timestamp=NOW_MS + 2 * HOUR_MS),
        rules=LOG_APPEND_TIME,
        config=LOG_APPEND_TIME_CONFIG,
    ),
    Case("append time by the producer", with_header(plain_batch(), attributes=LOG_APPEND_TIME_BIT)),
    Case(
        "append time by the producer, where the broker sets it",
        with_header(plain_batch(), attributes=LOG_APPEND_TIME_BIT),
        BAD_TIME,
        (),
        LOG_APPEND_TIME,
        LOG_APPEND_TIME_CONFIG,
        why="Kafka names every record, in a batch that Barnabas leaves closed",
    ),
    # -- compacted topics
    Case("keys where they are required", plain_batch(), rules=COMPACTED, config=COMPACTED_CONFIG),
    Case("no keys where they are required", plain_batch(key=None), INVALID, (0, 1, 2), COMPACTED, COMPACTED_CONFIG),
    Case("some keys where they are required", mixed_keys, INVALID, (1, 3), COMPACTED, COMPACTED_CONFIG),
    Case("no keys, compressed", plain_batch(key=None, codec=Codec.ZSTD), INVALID, (0, 1, 2), COMPACTED, COMPACTED_CONFIG),
    Case("a tombstone", build_batch([Record(0, NOW_MS, b"k", None)]), rules=COMPACTED, config=COMPACTED_CONFIG),
    Case(
        "compressed garbage where keys are required",
        with_header(plain_batch(), attributes=Codec.SNAPPY),
        INVALID,
        rules=COMPACTED,
        config=COMPACTED_CONFIG,
        kafka=SERVER_ERROR,
        why=OURS,
    ),
    # -- another codec than the producer's
    *(Case(f"{codec.name.lower()} to zstd", plain_batch(codec=codec), rules=TO_ZSTD, config=TO_ZSTD_CONFIG) for codec in Codec),
    Case("zstd to none", plain_batch(codec=Codec.ZSTD), rules=BatchRules(codec=Codec.NONE), config={"compression.type": "uncompressed"}),
    Case(
        "garbage to zstd",
        with_header(plain_batch(), attributes=Codec.GZIP),
        INVALID,
        rules=TO_ZSTD,
        config=TO_ZSTD_CONFIG,
        kafka=SERVER_ERROR,
        why=OURS,
    ),
    Case(
        "too large only when it is no longer compressed",
        build_batch([Record(0, NOW_MS, b"k", bytes(5000))], codec=Codec.ZSTD),
        ErrorCode.MESSAGE_TOO_LARGE,
        rules=BatchRules(codec=Codec.NONE, size_bytes_max=1000),
        config={"compression.type": "uncompressed", "max.message.bytes": 1000},
    ),
    Case(
        "another codec and append time",
        plain_batch(codec=Codec.GZIP),
        rules=BatchRules(codec=Codec.LZ4, timestamp_type=TimestampType.LOG_APPEND_TIME),
        config={"compression.type": "lz4", **LOG_APPEND_TIME_CONFIG},
    ),
    Case(
        "another codec, too old",
        plain_batch(1, timestamp=0),
        BAD_TIME,
        (0,),
        BatchRules(codec=Codec.ZSTD, timestamp_before_ms_max=HOUR_MS),
        {"compression.type": "zstd", "message.timestamp.before.max.ms": HOUR_MS},
    ),
]
