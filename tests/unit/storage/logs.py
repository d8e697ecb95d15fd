"""A partition on a simulated disk, and the batches for it."""

from __future__ import annotations

from random import Random

from barnabas.env.disk import Disk
from barnabas.model.buffers import Buffer
from barnabas.model.ids import TopicPartition
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import HEADER_BYTES, read_header
from barnabas.records.batches import check_crc, walk
from barnabas.records.compression import Codec
from barnabas.records.control_batch import ControlType, build_end_transaction
from barnabas.records.record import Record, open_batch
from barnabas.records.validation import Refused
from barnabas.simulation.disk import SimulatedDisk
from barnabas.storage.log import Appended, Log
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.recovery import RecoveryReport, open_log

DIRECTORY = "/data/topic-0"
PARTITION = TopicPartition("topic", 0)
NOW_MS = 1_700_000_000_000
# The size of a batch of one record made by data(), so that tests can give segment sizes and index
# intervals in batches.
BATCH_BYTES = 100
SMALL = LogSettings(segment_bytes=10 * BATCH_BYTES, index_interval_bytes=2 * BATCH_BYTES)


def new_disk(seed: int = 0) -> SimulatedDisk:
    """A disk with the partition's empty directory, which is durable."""
    disk = SimulatedDisk(Random(seed))
    disk.make_directory(DIRECTORY)
    for directory in ("/data", "/"):
        disk.sync_directory(directory)
    return disk


def open_reporting(
    disk: Disk,
    settings: LogSettings = SMALL,
    *,
    clean: bool = False,
    recovery_point: int = 0,
    log_start_offset: int | None = None,
    directory: str = DIRECTORY,
) -> tuple[Log, RecoveryReport]:
    return open_log(
        disk,
        directory,
        PARTITION,
        settings,
        clean=clean,
        recovery_point=recovery_point,
        log_start_offset=log_start_offset,
        now_ms=NOW_MS,
    )


def open_partition(
    disk: Disk, settings: LogSettings = SMALL, *, clean: bool = False, recovery_point: int = 0, log_start_offset: int | None = None
) -> Log:
    return open_reporting(disk, settings, clean=clean, recovery_point=recovery_point, log_start_offset=log_start_offset)[0]


def data(
    count: int = 1,
    *,
    value: bytes | None = None,
    timestamp: int = NOW_MS,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    codec: Codec = Codec.NONE,
) -> bytearray:
    """A batch as a producer sends it. One record without a value of its own makes exactly
    BATCH_BYTES.
    """
    filling = bytes(BATCH_BYTES - HEADER_BYTES - 7) if value is None else value
    return build_batch(
        [Record(offset, timestamp, None, filling) for offset in range(count)],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=transactional,
        codec=codec,
    )


def sent(
    producer_id: int, sequence: int, *, count: int = 1, epoch: int = 0, transactional: bool = False, value: bytes | None = None
) -> bytearray:
    return data(count, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, transactional=transactional, value=value)


def marker(producer_id: int, kind: ControlType, *, epoch: int = 0, coordinator_epoch: int = 0) -> bytearray:
    return build_end_transaction(kind, coordinator_epoch=coordinator_epoch, producer_id=producer_id, producer_epoch=epoch, timestamp=NOW_MS)


def offer(log: Log, batch: bytearray, *, leader_epoch: int = 0, now_ms: int = NOW_MS, append_time_ms: int = -1) -> Appended | Refused:
    return log.append(memoryview(batch), read_header(batch), leader_epoch=leader_epoch, now_ms=now_ms, append_time_ms=append_time_ms)


def append(log: Log, batch: bytearray | None = None, *, leader_epoch: int = 0, now_ms: int = NOW_MS) -> Appended:
    outcome = offer(log, data() if batch is None else batch, leader_epoch=leader_epoch, now_ms=now_ms)
    assert isinstance(outcome, Appended), outcome
    return outcome


def fill(log: Log, batches: int, *, leader_epoch: int = 0) -> None:
    """That many batches of one record, each with its offset as value, and a timestamp that rises
    with it.
    """
    for _ in range(batches):
        offset = log.log_end_offset
        append(log, data(value=numbered(offset), timestamp=NOW_MS + offset), leader_epoch=leader_epoch)


def numbered(offset: int) -> bytes:
    return b"%032d" % offset


def all_batches(log: Log, *, start: int | None = None) -> list[bytes]:
    """Every batch that a reader gets from ``start`` on, region after region."""
    found: list[bytes] = []
    offset = log.log_start_offset if start is None else start
    while offset < log.log_end_offset:
        region = log.read(offset, size_bytes_max=1 << 20, end_offset=log.log_end_offset, at_least_one=True).region
        if region is None:
            break
        chunk = region.read()
        region.release()
        assert len(chunk) == len(region)
        for position, header in walk(chunk):
            batch = chunk[position : position + header.size_bytes]
            check_crc(batch, header)
            found.append(batch)
            offset = header.last_offset + 1
        assert sum(map(len, found[-len(list(walk(chunk))) :])) == len(chunk), "a region of whole batches"
    return found


def all_records(log: Log, *, start: int | None = None) -> list[Record]:
    first = log.log_start_offset if start is None else start
    return [record for batch in all_batches(log, start=start) for record in open_batch(batch) if record.offset >= first]


def values(log: Log) -> list[bytes | None]:
    return [record.value for record in all_records(log)]


def offsets(batches: list[bytes]) -> list[tuple[int, int]]:
    return [(header.base_offset, header.last_offset) for header in map(read_header, batches)]


def base_offsets(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def files(disk: Disk, directory: str = DIRECTORY) -> dict[str, bytes]:
    return {name: disk.read(f"{directory}/{name}") for name in disk.names(directory)}


def write_file(disk: Disk, name: str, content: Buffer) -> None:
    """Write a file and make it durable, name included."""
    file = disk.open(f"{DIRECTORY}/{name}")
    file.truncate(0)
    file.write_at(0, content)
    file.sync()
    file.close()
    disk.sync_directory(DIRECTORY)
