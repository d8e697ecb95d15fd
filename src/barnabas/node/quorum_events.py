"""The calls from the quorum upwards: from a commit to the publishers of metadata."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.controller.absent_brokers import AbsentBrokers
from barnabas.controller.channel import ControllerChannel
from barnabas.controller.driver import ControllerDriver
from barnabas.metadata.snapshot import SnapshotId
from barnabas.quorum.delivery import MetadataDelivery
from barnabas.quorum.driver import QuorumDriver
from barnabas.telemetry.logs import EventLog


class QuorumEvents:
    """Implements :class:`~barnabas.quorum.listener.QuorumListener`."""

    def __init__(
        self,
        delivery: MetadataDelivery,
        controller: ControllerDriver,
        channel: ControllerChannel,
        quorum: QuorumDriver,
        absent_brokers: AbsentBrokers | None,
        log: EventLog,
        fatal: Callable[[BaseException], None],
    ) -> None:
        self._delivery = delivery
        self._controller = controller
        self._channel = channel
        self._log = log
        self._quorum = quorum
        self._leader: tuple[int, int] | None = None
        self.failed = fatal
        self._absent_brokers = absent_brokers
        controller.on_active = self._active

    def _active(self, epoch: int) -> None:
        self._log.info("node is the active controller", epoch=epoch)
        if self._absent_brokers is not None:
            self._absent_brokers.begin()

    def committed(self, high_watermark: int) -> None:
        self._delivery.committed(high_watermark)
        self._controller.committed(high_watermark)

    def became_candidate(self, epoch: int) -> None:
        self._log.info("node is a candidate for the metadata quorum", epoch=epoch)

    def became_leader(self, epoch: int, epoch_start_offset: int) -> None:
        self._log.info("node leads the metadata quorum", epoch=epoch)
        self._controller.elected(epoch, epoch_start_offset)

    def resigned(self, epoch: int) -> None:
        self._log.info("node no longer leads the metadata quorum", epoch=epoch)
        self._controller.resigned()
        if self._absent_brokers is not None:
            self._absent_brokers.stop()

    def leader_changed(self) -> None:
        leader = self._quorum.leader
        known = (leader.node_id, leader.epoch) if leader is not None else None
        if known != self._leader:
            self._leader = known
            if leader is None:
                self._log.info("metadata quorum has no known leader", epoch=self._quorum.epoch)
            elif not self._quorum.leading:
                self._log.info("node follows the leader of the metadata quorum", leader=leader.node_id, epoch=leader.epoch)
        self._channel.leader_changed()

    def snapshot_installed(self, snapshot: SnapshotId) -> None:
        self._delivery.snapshot_came(snapshot)

    def misbehaved(self, problem: str) -> None:
        self._log.warning("quorum", problem=problem)
