"""The files of a partition directory, of Kafka or of Barnabas."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from barnabas.env.real_disk import RealDisk
from barnabas.model.ids import TopicPartition
from barnabas.records.batch_header import BatchHeader
from barnabas.records.batches import check_crc, walk
from barnabas.records.record import Record, open_batch
from barnabas.storage.checkpoints import CLEANER_OFFSETS, read_offsets


class Survivor(NamedTuple):
    """A batch on the disk, without its base timestamp: with a delete horizon the field holds that,
    which depends on the time of the cleaning. When a batch lost its first record, Kafka uses the
    timestamp of the next one, and we keep the old base."""

    base_offset: int
    last_offset: int
    attributes: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: tuple[Record, ...]


def segments(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.log"))


def survivors(directory: Path) -> list[Survivor]:
    return [_survivor(header, batch) for path in segments(directory) for header, batch in _batches(path)]


def _batches(path: Path) -> list[tuple[BatchHeader, memoryview]]:
    data = memoryview(path.read_bytes())
    found = [(header, data[position : position + header.size_bytes]) for position, header in walk(data)]
    assert sum(len(batch) for _, batch in found) == len(data), f"{path} does not end with a whole batch"
    for header, batch in found:
        check_crc(batch, header)
    return found


def _survivor(header: BatchHeader, batch: memoryview) -> Survivor:
    return Survivor(
        header.base_offset,
        header.last_offset,
        header.attributes,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        tuple(open_batch(batch)),
    )


def is_cleaned(data: Path, topic: str) -> bool:
    """Whether everything except the active segment was compacted."""
    active = int(segments(data / f"{topic}-0")[-1].stem)
    return read_offsets(RealDisk(), str(data / CLEANER_OFFSETS)).get(TopicPartition(topic, 0)) == active
