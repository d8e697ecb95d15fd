"""Recognises files by their names, and chooses their decoders."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from barnabas.cli.log.dump.batch_map import map_batches
from barnabas.cli.log.dump.entries import Entry
from barnabas.cli.log.dump.indexes import dump_offset_index, dump_time_index, dump_transaction_index
from barnabas.cli.log.dump.named_records import Vocabulary, vocabulary_of
from barnabas.cli.log.dump.segments import Depth, dump_segment, dump_snapshot
from barnabas.cli.log.dump.small_files import (
    dump_clean_shutdown,
    dump_leader_epochs,
    dump_meta_properties,
    dump_offset_checkpoint,
    dump_partition_metadata,
    dump_producers,
    dump_quorum_state,
)
from barnabas.env.disk import Disk
from barnabas.metadata.snapshot import CHECKPOINT_SUFFIX, PART_SUFFIX
from barnabas.quorum.core.quorum_state import QUORUM_STATE
from barnabas.storage.checkpoints import CLEANER_OFFSETS, HIGH_WATERMARKS, LOG_START_OFFSETS, RECOVERY_POINTS
from barnabas.storage.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LEADER_EPOCHS,
    LOG_SUFFIX,
    PARTITION_METADATA,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    parse_partition_directory,
)
from barnabas.storage.log_directory import CLEAN_SHUTDOWN
from barnabas.storage.meta_properties import META_PROPERTIES
from barnabas.tiered.store.object_names import ObjectKind


@dataclass(frozen=True, slots=True)
class DumpableFile:
    path: str
    kind: str
    entries: Callable[[], Iterator[Entry]]


_BY_NAME: dict[str, tuple[str, Callable[[Disk, str], Iterator[Entry]]]] = {
    RECOVERY_POINTS: ("recovery points", dump_offset_checkpoint),
    HIGH_WATERMARKS: ("high watermarks", dump_offset_checkpoint),
    LOG_START_OFFSETS: ("log start offsets", dump_offset_checkpoint),
    CLEANER_OFFSETS: ("cleaner offsets", dump_offset_checkpoint),
    LEADER_EPOCHS: ("leader epochs", dump_leader_epochs),
    PARTITION_METADATA: ("partition metadata", dump_partition_metadata),
    META_PROPERTIES: ("identity of a log directory", dump_meta_properties),
    QUORUM_STATE: ("quorum state", dump_quorum_state),
    CLEAN_SHUTDOWN: ("mark of a clean shutdown", dump_clean_shutdown),
}


def recognise(disk: Disk, path: str, depth: Depth) -> DumpableFile | None:
    """None for a file that no node writes."""
    directory, name = os.path.split(path)
    if name in _BY_NAME:
        kind, dump = _BY_NAME[name]
        return DumpableFile(path, kind, partial(dump, disk, path))
    stem, suffix, mark = _split(name)
    base_offset = _base_offset(stem)
    depth = _with_vocabulary(depth, directory, suffix)
    log_path = os.path.join(directory, f"{stem}{LOG_SUFFIX}{mark}")
    compared = partial(map_batches, disk, log_path) if depth.check and disk.exists(log_path) else None
    match suffix:
        case _ if suffix == LOG_SUFFIX:
            return DumpableFile(path, "segment", partial(dump_segment, disk, path, base_offset, depth))
        case _ if suffix == CHECKPOINT_SUFFIX:
            return DumpableFile(path, "metadata snapshot", partial(dump_snapshot, disk, path, depth))
        case _ if suffix == INDEX_SUFFIX:
            return DumpableFile(path, "offset index", partial(dump_offset_index, disk, path, base_offset or 0, compared))
        case _ if suffix == TIME_INDEX_SUFFIX:
            return DumpableFile(path, "time index", partial(dump_time_index, disk, path, base_offset or 0, compared))
        case _ if suffix == TRANSACTION_INDEX_SUFFIX:
            return DumpableFile(path, "index of aborted transactions", partial(dump_transaction_index, disk, path))
        case _ if suffix == SNAPSHOT_SUFFIX:
            return DumpableFile(path, "producers", partial(dump_producers, disk, path))
        case _ if suffix == ObjectKind.LEADER_EPOCHS:
            return DumpableFile(path, "leader epochs", partial(dump_leader_epochs, disk, path))
    return None


# ``00000000000000000042`` in a partition's directory, ``00000000000000000042-<uuid>`` in a remote
# store on a file system, and ``42_<uuid>`` in the cache of remote indexes.
_STEM = re.compile(r"^(\d+)(?:[-_][A-Za-z0-9_-]{22})?$")


def _base_offset(stem: str) -> int | None:
    found = _STEM.match(stem)
    return int(found[1]) if found else None


def _split(name: str) -> tuple[str, str, str]:
    """``0001.log.deleted`` is ``0001``, ``.log`` and ``.deleted``."""
    mark = next((each for each in (DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX) if name.endswith(each)), "")
    name = name.removesuffix(mark)
    if name.endswith(PART_SUFFIX):
        return name.removesuffix(PART_SUFFIX), CHECKPOINT_SUFFIX, mark
    stem, suffix = os.path.splitext(name)
    return stem, suffix, mark


def _with_vocabulary(depth: Depth, directory: str, suffix: str) -> Depth:
    """The directory's name selects the vocabulary, unless the user did. Records with a known
    vocabulary are always shown."""
    vocabulary = depth.vocabulary
    if suffix == CHECKPOINT_SUFFIX:
        vocabulary = Vocabulary.METADATA
    elif vocabulary is Vocabulary.AUTO:
        partition = parse_partition_directory(os.path.basename(os.path.abspath(directory)))
        vocabulary = vocabulary_of(partition.topic if partition is not None else None)
    return replace(depth, vocabulary=vocabulary, records=depth.records or vocabulary.gives_meaning)
