"""Segments that a log has dropped: renamed at once, and removed when no reader can use them any
more.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.env.disk import Disk
from barnabas.model.dataclass import dataclass
from barnabas.storage.file_names import DELETED_SUFFIX, SEGMENT_SUFFIXES, SNAPSHOT_SUFFIX, offset_name
from barnabas.storage.segment import Segment


@dataclass(frozen=True, slots=True)
class Removal:
    disk: Disk
    paths: tuple[str, ...]
    segments: int
    size_bytes: int

    def finish(self) -> None:
        """May run on another thread. The next start removes the files that a crash leaves."""
        for path in self.paths:
            self.disk.remove(path)


def mark_deleted(disk: Disk, directory: str, segments: Sequence[Segment], *, snapshots_from: int = 0) -> Removal:
    """Rename segments that are no longer in their log. Regions of them stay readable. Their
    producer snapshots are renamed too, but not those of offsets below ``snapshots_from``.
    """
    paths = []
    for segment in segments:
        segment.discarded = True
        segment.abandon()
        for suffix in SEGMENT_SUFFIXES if segment.base_offset < snapshots_from else (*SEGMENT_SUFFIXES, SNAPSHOT_SUFFIX):
            path = f"{directory}/{offset_name(segment.base_offset)}{suffix}"
            if disk.exists(path):
                disk.rename(path, path + DELETED_SUFFIX)
                paths.append(path + DELETED_SUFFIX)
        segment.file.moved_to(segment.file.path + DELETED_SUFFIX)
    return Removal(disk, tuple(paths), len(segments), sum(segment.size_bytes for segment in segments))
