"""``storage format``: give directories an identity and a first set of records. Done once, before a node first starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from barnabas.controller.bootstrap import bootstrap_records
from barnabas.env.disk import Disk, write_atomically
from barnabas.env.entropy import Entropy, random_uuid
from barnabas.metadata.snapshot import BOOTSTRAP_CHECKPOINT, SnapshotDamaged, decode_snapshot, encode_snapshot
from barnabas.model.ids import NodeId, Uuid
from barnabas.storage.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from barnabas.wire.metadata_records import MetadataRecord


class FormatRefused(Exception):
    """One sentence for the user."""


@dataclass(frozen=True, slots=True)
class Formatted:
    path: str
    already: bool


def format_directories(
    disk: Disk,
    paths: Sequence[str],
    *,
    cluster_id: str,
    node_id: NodeId,
    entropy: Entropy,
    now_ms: int,
    ignore_formatted: bool = False,
) -> list[Formatted]:
    """All or none: directories that belong to somebody else are found before the first is written."""
    found = {}
    for path in paths:
        meta = read_meta_properties(disk, path) if disk.exists(path) else None
        found[path] = meta
        if meta is None:
            continue
        if meta.cluster_id != cluster_id or meta.node_id != node_id:
            raise FormatRefused(
                f"{path} belongs to node {meta.node_id} of cluster {meta.cluster_id}, not to node {node_id} of {cluster_id}."
            )
        if not ignore_formatted:
            raise FormatRefused(f"{path} is already formatted; --ignore-formatted leaves such directories as they are.")
    results = []
    for path, meta in found.items():
        if meta is None:
            disk.make_directory(path)
            _write_bootstrap(disk, path, now_ms)
            write_meta_properties(disk, path, MetaProperties(cluster_id, node_id, Uuid(random_uuid(entropy))))
        results.append(Formatted(path, already=meta is not None))
    return results


def _write_bootstrap(disk: Disk, path: str, now_ms: int) -> None:
    batches = encode_snapshot(bootstrap_records(), epoch=0, last_contained_timestamp=0, timestamp=now_ms)
    write_atomically(disk, f"{path}/{BOOTSTRAP_CHECKPOINT}", b"".join(batches))


def read_bootstrap(disk: Disk, path: str) -> list[MetadataRecord]:
    """What the directory was formatted with; the same as if it were formatted today when the file is gone, as in Kafka 4.4."""
    file = f"{path}/{BOOTSTRAP_CHECKPOINT}"
    if not disk.exists(file):
        return bootstrap_records()
    try:
        records, _ = decode_snapshot(disk.read(file))
    except SnapshotDamaged as wrong:
        raise FormatRefused(f"{file} cannot be read: {wrong}.") from None
    return records
