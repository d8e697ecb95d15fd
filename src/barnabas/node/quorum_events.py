"""The calls from the quorum upwards: from a commit to the publishers of metadata."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.controller.channel import ControllerChannel
from barnabas.controller.driver import ControllerDriver
from barnabas.metadata.snapshot import SnapshotId
from barnabas.quorum.delivery import MetadataDelivery
from barnabas.telemetry.logs import EventLog


class QuorumEvents:
    """Implements :class:`~barnabas.quorum.listener.QuorumListener`."""

    def __init__(
        self,
        delivery: MetadataDelivery,
        controller: ControllerDriver,
        channel: ControllerChannel,
        log: EventLog,
        fatal: Callable[[BaseException], None],
    ) -> None:
        self._delivery = delivery
        self._controller = controller
        self._channel = channel
        self._log = log
        self.failed = fatal

    def committed(self, high_watermark: int) -> None:
        self._delivery.committed(high_watermark)
        self._controller.committed(high_watermark)

    def became_leader(self, epoch: int, epoch_start_offset: int) -> None:
        self._controller.elected(epoch, epoch_start_offset)

    def resigned(self, epoch: int) -> None:
        self._controller.resigned()

    def leader_changed(self) -> None:
        self._channel.leader_changed()

    def snapshot_installed(self, snapshot: SnapshotId) -> None:
        self._delivery.snapshot_came(snapshot)

    def misbehaved(self, problem: str) -> None:
        self._log.warning("quorum", problem=problem)
