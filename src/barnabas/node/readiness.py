"""Whether a node is ready, and the reasons why it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from barnabas import __version__
from barnabas.controller.broker_lifecycle import UNKNOWN_EPOCH
from barnabas.env.clock import Clock
from barnabas.logcare.directories.node_directories import NodeDirectories
from barnabas.metadata.applier import MetadataApplier
from barnabas.quorum.driver import QuorumDriver

# A node applies a record milliseconds after its commit. Creating the logs of a large topic takes
# seconds, and readiness must not flicker then.
METADATA_MS_MAX = 15_000

STARTING = "The node starts."
OPENING_LOGS = "The node starts: it opens its logs, and recovers them if it did not stop cleanly."
JOINING = "The node starts: it waits for the metadata quorum, or to be unfenced."
STOPPING = "The node stops."


class Readiness:
    """Implements :class:`~barnabas.telemetry.probes.Probed`."""

    def __init__(self, node_id: int, clock: Clock) -> None:
        self._clock = clock
        self.phase: str | None = STARTING
        self.identity: dict[str, Any] = {"node_id": node_id, "version": __version__}
        self._checks: list[Callable[[], Iterable[str]]] = []

    def watch(
        self,
        quorum: QuorumDriver,
        applier: MetadataApplier,
        directories: NodeDirectories,
        *,
        broker_epoch: Callable[[], int] | None,
    ) -> None:
        """The parts to ask once the node runs. ``broker_epoch`` is None on a node that is no
        broker."""
        metadata = _MetadataProgress(quorum, applier, self._clock)

        def registration() -> Iterable[str]:
            if broker_epoch is None:
                return
            if broker_epoch() == UNKNOWN_EPOCH:
                yield "The broker is not registered with a controller."
            elif not applier.image.cluster.active(self.identity["node_id"]):
                yield "The broker is fenced: no controller has received its heartbeats lately, or it is about to stop."

        def failed_directories() -> Iterable[str]:
            for path in directories.unopened:
                yield f"The log directory {path} could not be opened."
            for directory in directories:
                if not directory.online:
                    yield f"The log directory {directory.path} has failed."

        self._checks = [registration, failed_directories, metadata.problems]

    def problems(self) -> list[str]:
        return [reason for check in self._checks for reason in check()]


class _MetadataProgress:
    """Finds a node that no longer applies the metadata, or no longer hears of it."""

    def __init__(self, quorum: QuorumDriver, applier: MetadataApplier, clock: Clock) -> None:
        self._quorum = quorum
        self._applier = applier
        self._clock = clock
        self._awaited_offset = -1
        self._since_ms = clock.monotonic_ms()
        self._leaderless_since_ms: int | None = None

    def problems(self) -> Iterable[str]:
        now_ms, applied = self._clock.monotonic_ms(), self._applier.image.provenance.offset
        if applied >= self._awaited_offset:
            self._awaited_offset, self._since_ms = self._quorum.high_watermark - 1, now_ms
        elif now_ms - self._since_ms > METADATA_MS_MAX:
            behind = self._quorum.high_watermark - 1 - applied
            yield f"The node is {behind} records behind in the metadata log, for more than {METADATA_MS_MAX // 1000} s."
        if self._quorum.leader is not None:
            self._leaderless_since_ms = None
        elif self._leaderless_since_ms is None:
            # Found by this probe; the last one may be long ago.
            self._leaderless_since_ms = now_ms
        elif now_ms - self._leaderless_since_ms > METADATA_MS_MAX:
            yield f"No leader of the metadata quorum is known, for more than {METADATA_MS_MAX // 1000} s."
