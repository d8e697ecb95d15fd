"""The controller inside this node: requests in, records to the quorum, responses out when they are committed and applied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barnabas.controller.controller import Controller
from barnabas.env.clock import Clock
from barnabas.model.promise import Promise
from barnabas.node.metadata_applier import MetadataApplier
from barnabas.node.quorum_driver import QuorumDriver
from barnabas.wire.metadata_records import AbortTransactionRecord, MetadataRecord, NoOpRecord


class ControllerDriver:
    def __init__(
        self, controller: Controller, quorum: QuorumDriver, applier: MetadataApplier, clock: Clock, bootstrap: Sequence[MetadataRecord]
    ) -> None:
        self._controller = controller
        self._quorum = quorum
        self._applier = applier
        self._clock = clock
        self._bootstrap = bootstrap
        self._in_office = False
        self._last_append_ms = 0

    def take_office(self) -> None:
        """Called when everything up to this node's own epoch has been applied: from here on it decides."""
        self._in_office = True
        if self._applier.in_transaction:
            # An earlier controller began it and is gone: nobody will ever end it.
            self._append([AbortTransactionRecord(reason="The controller that began it is gone.")])
        records = self._controller.take_office(self._applier.loaded, self._bootstrap, next_offset=self._quorum.end_offset)
        if records:
            self._append(records)

    def submit(self, request: Any) -> Promise[Any]:
        assert self._in_office, "requests wait until the controller is in office"
        outcome = self._controller.step(request, next_offset=self._quorum.end_offset, now_ms=self._clock.wall_ms())
        if outcome.records:
            self._append(outcome.records)
        # Also an answer without records may rest on records of others that are not committed yet.
        return self._applier.applied(self._quorum.end_offset - 1).map(lambda _: outcome.response)

    def write_no_op(self, *, idle_ms: int) -> None:
        """Show followers and operators that the log moves, if nothing else was written for a while."""
        if self._in_office and self._clock.monotonic_ms() - self._last_append_ms >= idle_ms:
            self._controller.note(self._quorum.end_offset)
            self._append([NoOpRecord()])

    def _append(self, records: Sequence[MetadataRecord]) -> None:
        self._last_append_ms = self._clock.monotonic_ms()
        self._quorum.append(records)
