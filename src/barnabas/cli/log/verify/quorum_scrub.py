"""The files beside the metadata log only: its snapshots, and the quorum state."""

from __future__ import annotations

from barnabas.cli.log.dump.named_records import Vocabulary
from barnabas.cli.log.dump.segments import Depth, dump_snapshot
from barnabas.cli.log.dump.small_files import dump_quorum_state
from barnabas.cli.log.verify.findings import Scrub
from barnabas.cli.log.verify.index_scrub import read_all
from barnabas.env.disk import Disk
from barnabas.metadata.snapshot import SnapshotId, parse_snapshot_name
from barnabas.quorum.core.quorum_state import QUORUM_STATE


def scrub_quorum_files(
    scrub: Scrub, disk: Disk, directory: str, names: list[str], *, log_start: int, log_end: int | None, last_epoch: int
) -> None:
    whole: list[SnapshotId] = []
    for name in names:
        snapshot = parse_snapshot_name(name)
        if snapshot is None:
            continue
        path = f"{directory}/{name}"
        if scrub_snapshot(scrub, disk, path):
            whole.append(snapshot)
        if log_end is not None and snapshot.end_offset > log_end:
            scrub.find_wrong(path, f"it ends at {snapshot.end_offset}, above {log_end}, where the log ends", offset=snapshot.end_offset)
    if log_start > 0 and not any(each.end_offset >= log_start for each in whole):
        scrub.find_wrong(
            directory, f"the log begins at {log_start}, and no complete snapshot covers the offsets before it", offset=log_start
        )
    path = f"{directory}/{QUORUM_STATE}"
    if QUORUM_STATE in names:
        for state in read_all(scrub, path, dump_quorum_state(disk, path)) or []:
            epoch = state.fields["leaderEpoch"]
            if epoch < last_epoch:
                scrub.find_wrong(path, f"it is at epoch {epoch}, but the log has batches of epoch {last_epoch}")


def scrub_snapshot(scrub: Scrub, disk: Disk, path: str) -> bool:
    """Whether the snapshot is complete."""
    return read_all(scrub, path, dump_snapshot(disk, path, Depth(check=True, vocabulary=Vocabulary.METADATA))) is not None
