"""``storage format``: give directories an identity and their first records, before the first start.

With dynamic voters (KIP-853) the first voters are in an otherwise empty snapshot at offset 0,
beside the empty metadata log. A controller finds itself there and may become the leader; every
other node learns the voters from the log.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.controller.core.bootstrap import bootstrap_records
from barnabas.env.disk import Disk, write_atomically
from barnabas.env.entropy import Entropy, random_uuid
from barnabas.metadata.snapshot import BOOTSTRAP_CHECKPOINT, SnapshotDamaged, SnapshotId, decode_snapshot, encode_snapshot
from barnabas.model.dataclass import dataclass
from barnabas.model.ids import METADATA_PARTITION, NodeId, Uuid
from barnabas.quorum.core.control_history import kraft_version_value, voters_value
from barnabas.quorum.core.voters import DYNAMIC_KRAFT_VERSION, VoterSet
from barnabas.records.control_batch import ControlType
from barnabas.security.sasl.add_scram import SALT_BYTES, ScramUserToAdd
from barnabas.storage.file_names import partition_directory_name
from barnabas.storage.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from barnabas.wire.metadata_records import MetadataRecord

BOOTSTRAP_SNAPSHOT = SnapshotId(0, 0)


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
    metadata_path: str | None = None,
    initial_voters: VoterSet | None = None,
    users: Sequence[ScramUserToAdd] = (),
) -> list[Formatted]:
    """All or none: a directory of another node or cluster is found before the first write.

    ``initial_voters`` are written beside the metadata log, in ``metadata_path`` (by default the
    first path). If this node is one of them, that directory gets the id given for it. The SCRAM
    credentials of ``users`` are there too, among the first records of the cluster.
    """
    metadata_path = metadata_path or paths[0]
    credentials = [user.record(entropy.bytes(SALT_BYTES)) for user in users]
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
            _write_bootstrap(disk, path, now_ms, credentials if path == metadata_path else [])
            directory_id = Uuid(random_uuid(entropy))
            if initial_voters is not None and path == metadata_path:
                _write_voters(disk, path, initial_voters, now_ms)
                if node_id in initial_voters:
                    directory_id = initial_voters[node_id].key.directory_id
            write_meta_properties(disk, path, MetaProperties(cluster_id, node_id, directory_id))
        results.append(Formatted(path, already=meta is not None))
    return results


def _write_bootstrap(disk: Disk, path: str, now_ms: int, credentials: Sequence[MetadataRecord]) -> None:
    batches = encode_snapshot([*bootstrap_records(), *credentials], epoch=0, last_contained_timestamp=0, timestamp=now_ms)
    write_atomically(disk, f"{path}/{BOOTSTRAP_CHECKPOINT}", b"".join(batches))


def _write_voters(disk: Disk, path: str, voters: VoterSet, now_ms: int) -> None:
    directory = f"{path}/{partition_directory_name(METADATA_PARTITION)}"
    disk.make_directory(directory)
    controls = [
        (ControlType.KRAFT_VERSION, kraft_version_value(DYNAMIC_KRAFT_VERSION)),
        (ControlType.KRAFT_VOTERS, voters_value(voters)),
    ]
    batches = encode_snapshot([], epoch=BOOTSTRAP_SNAPSHOT.epoch, last_contained_timestamp=now_ms, timestamp=now_ms, controls=controls)
    write_atomically(disk, f"{directory}/{BOOTSTRAP_SNAPSHOT.file_name}", b"".join(batches))
    disk.sync_directory(path)


def read_bootstrap(disk: Disk, path: str) -> list[MetadataRecord]:
    """The records that the directory was formatted with.

    Without the file these are the records of a new format, as in Kafka 4.4.
    """
    file = f"{path}/{BOOTSTRAP_CHECKPOINT}"
    if not disk.exists(file):
        return bootstrap_records()
    try:
        records, _ = decode_snapshot(disk.read(file))
    except SnapshotDamaged as wrong:
        raise FormatRefused(f"{file} cannot be read: {wrong}.") from None
    return records
