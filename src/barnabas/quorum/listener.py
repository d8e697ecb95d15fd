"""The calls from the quorum to the rest of the node. There is no other way upwards."""

from __future__ import annotations

from typing import Protocol

from barnabas.metadata.snapshot import SnapshotId


class QuorumListener(Protocol):
    def committed(self, high_watermark: int) -> None:
        """A majority of the voters has everything below ``high_watermark`` on its disks."""

    def became_candidate(self, epoch: int) -> None:
        """This node has voted for itself, and asks the other voters for their votes."""

    def became_leader(self, epoch: int, epoch_start_offset: int) -> None: ...

    def resigned(self, epoch: int) -> None: ...

    def leader_changed(self) -> None:
        """Another node leads, or no leader is known; see the driver's ``leader``."""

    def snapshot_installed(self, snapshot: SnapshotId) -> None:
        """A snapshot that the leader sent has replaced everything below its end offset."""

    def failed(self, error: BaseException) -> None:
        """The quorum of this node cannot continue."""

    def misbehaved(self, problem: str) -> None:
        """A peer sent something that a correct peer does not send, or the disk is full."""
