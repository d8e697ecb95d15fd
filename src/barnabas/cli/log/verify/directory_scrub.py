"""A whole log directory: its identity, its checkpoints, and all its partitions."""

from __future__ import annotations

import os

from barnabas.cli.log.dump.entries import Damage
from barnabas.cli.log.dump.kinds import recognise
from barnabas.cli.log.dump.segments import Depth
from barnabas.cli.log.dump.small_files import dump_clean_shutdown, dump_meta_properties, dump_offset_checkpoint
from barnabas.cli.log.verify.findings import Scrub
from barnabas.cli.log.verify.index_scrub import read_all
from barnabas.cli.log.verify.partition_scrub import CheckpointedOffsets, scrub_partition
from barnabas.cli.log.verify.quorum_scrub import scrub_snapshot
from barnabas.env.disk import Disk
from barnabas.metadata.snapshot import BOOTSTRAP_CHECKPOINT
from barnabas.model.ids import TopicPartition
from barnabas.storage.checkpoints import CLEANER_OFFSETS, HIGH_WATERMARKS, LOG_START_OFFSETS, RECOVERY_POINTS
from barnabas.storage.file_names import (
    DELETE_DIRECTORY_SUFFIX,
    STRAY_DIRECTORY_SUFFIX,
    is_marked,
    parse_future_directory,
    parse_partition_directory,
    partition_directory_name,
)
from barnabas.storage.log_directory import CLEAN_SHUTDOWN
from barnabas.storage.meta_properties import META_PROPERTIES
from barnabas.tiered.reading.index_cache import CACHE_DIRECTORY

CHECKPOINTS = (RECOVERY_POINTS, HIGH_WATERMARKS, LOG_START_OFFSETS, CLEANER_OFFSETS)


def scrub_log_directory(scrub: Scrub, disk: Disk, directory: str) -> None:
    scrub.directories += 1
    names = disk.names(directory)
    if META_PROPERTIES in names:
        path = f"{directory}/{META_PROPERTIES}"
        read_all(scrub, path, dump_meta_properties(disk, path))
    else:
        scrub.find_wrong(f"{directory}/{META_PROPERTIES}", "it is missing, so the owner of this directory is unknown")
    if CLEAN_SHUTDOWN in names:
        path = f"{directory}/{CLEAN_SHUTDOWN}"
        read_all(scrub, path, dump_clean_shutdown(disk, path))
    if BOOTSTRAP_CHECKPOINT in names:
        scrub_snapshot(scrub, disk, f"{directory}/{BOOTSTRAP_CHECKPOINT}")
    # Read the checkpoints before the logs: logs grow, and must reach the offsets in the
    # checkpoints.
    checkpointed = read_checkpoints(scrub, disk, directory)
    for name in names:
        path = f"{directory}/{name}"
        if name == CACHE_DIRECTORY:
            _scrub_index_cache(scrub, disk, path)
        elif os.path.isdir(path):
            _scrub_child(scrub, disk, path, name, checkpointed)
    _note_missing(scrub, disk, directory, checkpointed)


def checkpointed_offsets(
    directory: str, checkpointed: dict[str, dict[TopicPartition, int]], partition: TopicPartition
) -> CheckpointedOffsets:
    offsets = {f"{directory}/{name}": offsets[partition] for name, offsets in checkpointed.items() if partition in offsets}
    return CheckpointedOffsets(checkpointed.get(RECOVERY_POINTS, {}).get(partition), offsets)


def read_checkpoints(scrub: Scrub, disk: Disk, directory: str) -> dict[str, dict[TopicPartition, int]]:
    """The checkpoints that exist."""
    return {name: _read_checkpoint(scrub, disk, f"{directory}/{name}") for name in CHECKPOINTS if disk.exists(f"{directory}/{name}")}


def _read_checkpoint(scrub: Scrub, disk: Disk, path: str) -> dict[TopicPartition, int]:
    entries = read_all(scrub, path, dump_offset_checkpoint(disk, path)) or []
    found: dict[TopicPartition, int] = {}
    for each in entries:
        partition = TopicPartition(each.fields["topic"], each.fields["partition"])
        if partition in found:
            scrub.find_wrong(path, f"it has {partition_directory_name(partition)} twice")
        found[partition] = each.fields["offset"]
    return found


def _scrub_child(scrub: Scrub, disk: Disk, path: str, name: str, checkpointed: dict[str, dict[TopicPartition, int]]) -> None:
    if is_marked(name, DELETE_DIRECTORY_SUFFIX):
        scrub.note(path, f"left over, {_size_bytes(path)} bytes: a partition that is being deleted")
    elif is_marked(name, STRAY_DIRECTORY_SUFFIX):
        scrub.note(
            path,
            f"left over, {_size_bytes(path)} bytes: a stray replica without a topic; no node deletes it, so delete it by hand",
        )
        scrub_partition(scrub, disk, path, None)
    elif (future := parse_future_directory(name)) is not None:
        scrub.note(path, f"{_size_bytes(path)} bytes: a replica that is being moved here")
        scrub_partition(scrub, disk, path, future)
    elif (partition := parse_partition_directory(name)) is not None:
        scrub_partition(scrub, disk, path, partition, checkpointed_offsets(os.path.dirname(path), checkpointed, partition))


def _scrub_index_cache(scrub: Scrub, disk: Disk, directory: str) -> None:
    for name in disk.names(directory):
        path = f"{directory}/{name}"
        file = recognise(disk, path, Depth())
        if file is None or not os.path.isfile(path):
            continue
        try:
            for _ in file.entries():
                pass
        except FileNotFoundError:
            continue  # evicted meanwhile
        except (Damage, OSError, ValueError) as error:
            scrub.note(path, f"it cannot be used and will be fetched from the remote store again: {error}")


def _note_missing(scrub: Scrub, disk: Disk, directory: str, checkpointed: dict[str, dict[TopicPartition, int]]) -> None:
    moving = {parse_future_directory(name) for name in disk.names(directory)}
    for name, offsets in checkpointed.items():
        for partition in offsets:
            gone = not disk.exists(f"{directory}/{partition_directory_name(partition)}")
            if gone and partition not in moving:
                scrub.note(f"{directory}/{name}", f"it has a line for {partition_directory_name(partition)}, which is not here any more")


def _size_bytes(directory: str) -> int:
    total = 0
    for parent, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_size
            except OSError:
                continue
    return total
