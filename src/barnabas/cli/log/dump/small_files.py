"""The files that are read whole: checkpoints and other text, a partition's producers, the quorum
state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from barnabas.cli.log.dump.entries import Entry, at_line, at_position
from barnabas.config.keys import ConfigError
from barnabas.config.properties import read_properties
from barnabas.env.disk import Disk
from barnabas.model.ids import parse_uuid, uuid_text
from barnabas.quorum.core.quorum_state import QuorumStateDamaged, decode_quorum_state
from barnabas.storage.checkpoints import CheckpointDamaged, read_lines
from barnabas.storage.meta_properties import MetaPropertiesDamaged, read_meta_properties
from barnabas.storage.producer_snapshot import SnapshotDamaged, decode_snapshot

# Lines before a checkpoint's entries: its version and the number of entries.
_CHECKPOINT_HEAD_LINES = 2


def dump_offset_checkpoint(disk: Disk, path: str) -> Iterator[Entry]:
    """A topic, a partition and an offset in every line."""
    return _dump_checkpoint(disk, path, "checkpoint", _offset_fields)


def dump_leader_epochs(disk: Disk, path: str) -> Iterator[Entry]:
    """An epoch and its start offset in every line, both rising."""
    previous = (-1, -1)
    for number, entry in enumerate(_dump_checkpoint(disk, path, "leader_epoch", _epoch_fields), start=_CHECKPOINT_HEAD_LINES + 1):
        epoch, start = entry.fields["epoch"], entry.fields["start_offset"]
        if epoch <= previous[0] or start < previous[1]:
            raise at_line(number, f"epoch {epoch} from offset {start} follows epoch {previous[0]} from offset {previous[1]}")
        previous = (epoch, start)
        yield entry


def _dump_checkpoint(disk: Disk, path: str, kind: str, parse: Callable[[str], dict[str, Any] | None]) -> Iterator[Entry]:
    if not disk.size_bytes(path):
        # Kafka creates the cleaner's file empty and writes to it only after something was cleaned.
        return
    try:
        lines, damage = read_lines(disk, path), None
    except CheckpointDamaged as error:
        # Show the lines even though the file as a whole is invalid.
        lines = disk.read(path).decode("utf-8", "replace").split("\n")[_CHECKPOINT_HEAD_LINES:]
        lines = lines[:-1] if lines and not lines[-1] else lines
        damage = at_line(1, str(error).replace(path, "it", 1))
    for number, line in enumerate(lines, start=_CHECKPOINT_HEAD_LINES + 1):
        fields = parse(line)
        if fields is None:
            raise damage or at_line(number, f"{line!r} is not an entry of such a file")
        yield Entry(kind, fields)
    if damage is not None:
        raise damage


def _offset_fields(line: str) -> dict[str, Any] | None:
    match line.split():
        case [topic, partition, offset] if partition.isdecimal() and offset.removeprefix("-").isdecimal():
            return {"topic": topic, "partition": int(partition), "offset": int(offset)}
    return None


def _epoch_fields(line: str) -> dict[str, Any] | None:
    match line.split():
        case [epoch, start] if epoch.isdecimal() and start.isdecimal():
            return {"epoch": int(epoch), "start_offset": int(start)}
    return None


def dump_producers(disk: Disk, path: str) -> Iterator[Entry]:
    """The producers a partition remembered when the snapshot was taken."""
    try:
        producers = decode_snapshot(disk.read(path))
    except SnapshotDamaged as error:
        raise at_position(0, str(error)) from error
    for producer in producers:
        last = producer.batches[-1] if producer.batches else None
        yield Entry(
            "producer",
            {
                "producer_id": producer.producer_id,
                "producer_epoch": producer.epoch,
                "coordinator_epoch": producer.coordinator_epoch,
                "transaction_first_offset": producer.transaction_first_offset,
                "last_timestamp": producer.last_timestamp,
                "first_sequence": last.base_sequence if last else None,
                "last_sequence": last.last_sequence if last else None,
                "last_offset": last.last_offset if last else None,
                "offset_delta": last.last_offset - last.base_offset if last else None,
            },
        )


def dump_partition_metadata(disk: Disk, path: str) -> Iterator[Entry]:
    fields = {}
    for number, line in enumerate(disk.read(path).decode("utf-8", "replace").splitlines(), start=1):
        name, colon, value = line.partition(": ")
        if not colon:
            raise at_line(number, f"{line!r} is not a name and a value")
        fields[name] = value.strip()
    if fields.get("version") != "0":
        raise at_line(1, f"version {fields.get('version')} is not 0")
    try:
        topic_id = uuid_text(parse_uuid(fields.get("topic_id", "")))
    except ValueError as error:
        raise at_line(2, str(error)) from error
    yield Entry("partition_metadata", {"version": 0, "topic_id": topic_id})


def dump_meta_properties(disk: Disk, path: str) -> Iterator[Entry]:
    try:
        fields: dict[str, Any] = dict(read_properties(disk.read(path).decode("latin-1")))
    except ConfigError as error:
        raise at_line(1, str(error)) from error
    yield Entry("properties", fields)
    try:
        read_meta_properties(disk, path.rpartition("/")[0] or ".")
    except MetaPropertiesDamaged as error:
        raise at_line(1, str(error).removeprefix(f"{path} ").rstrip(".")) from error


def dump_quorum_state(disk: Disk, path: str) -> Iterator[Entry]:
    text = disk.read(path).decode("utf-8", "replace")
    try:
        decode_quorum_state(text)
    except QuorumStateDamaged as error:
        raise at_position(0, str(error)) from error
    yield Entry("quorum_state", json.loads(text))


def dump_clean_shutdown(disk: Disk, path: str) -> Iterator[Entry]:
    """Kafka before 3.7 left it empty: its existence is the information."""
    text = disk.read(path).decode("utf-8", "replace")
    try:
        fields = json.loads(text) if text else {}
    except ValueError as error:
        raise at_position(0, str(error)) from error
    if not isinstance(fields, dict):
        raise at_position(0, "not a JSON object")
    yield Entry("clean_shutdown", fields)
