"""A controller with the cluster that a test describes, and entropy from a seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from barnabas.config.parse import parse_broker_config
from barnabas.controller.core.bootstrap import bootstrap_records
from barnabas.controller.core.controller import Controller
from barnabas.controller.core.outcome import Outcome
from barnabas.devcluster.development import development_properties
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.ids import NodeId
from barnabas.security.principal import ANONYMOUS, Principal
from barnabas.wire.metadata_records import MetadataRecord, encode_metadata_record
from tests.unit.metadata.made import after

CLUSTER_ID = "Some-cluster-id-------"
NOW_MS = 1_700_000_000_000
# The wall clock and the controller's monotonic clock have nothing in common.
WALL_MS = 1_800_000_000_000


class Dice:
    """Entropy from a seed."""

    def __init__(self, seed: int = 0) -> None:
        self._chance = Random(seed)

    def bytes(self, size: int) -> bytes:
        return self._chance.randbytes(size)

    def below(self, bound: int) -> int:
        return self._chance.randrange(bound)


class Office:
    """An active controller. It checks that the records of every decision fit into a log and into an
    image."""

    def __init__(self, records: Iterable[MetadataRecord] = (), *, file: dict[str, str] | None = None, seed: int = 0) -> None:
        settings = parse_broker_config(development_properties(data_dir="/data", overrides=file))
        self.controller = Controller(NodeId(1), CLUSTER_ID, settings, Dice(seed))
        self.next_offset, self.now_ms, self.wall_ms = 100, NOW_MS, WALL_MS
        written = self.controller.activate(after([*bootstrap_records(), *records]), [], next_offset=100, now_ms=self.now_ms)
        assert written == []

    @property
    def image(self) -> MetadataImage:
        return self.controller.image

    def decide(self, request: Any, principal: Principal = ANONYMOUS) -> Outcome:
        outcome = self.controller.step(request, next_offset=self.next_offset, now_ms=self.now_ms, wall_ms=self.wall_ms, principal=principal)
        self._written(outcome.records)
        return outcome

    def ask(self, request: Any, principal: Principal = ANONYMOUS) -> Any:
        return self.decide(request, principal).response

    def wait(self, duration_ms: int) -> list[MetadataRecord]:
        """Moves the clock; the controller performs everything that is due by then."""
        self.now_ms += duration_ms
        self.wall_ms += duration_ms
        records = list(self.controller.tick(next_offset=self.next_offset, now_ms=self.now_ms, wall_ms=self.wall_ms))
        self._written(records)
        return records

    def _written(self, records: Sequence[MetadataRecord]) -> None:
        for record in records:
            encode_metadata_record(record)
        self.next_offset += len(records)
