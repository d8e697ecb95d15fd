"""Readiness: what a node says while its parts are in any state."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.controller.broker_lifecycle import UNKNOWN_EPOCH
from barnabas.node.readiness import METADATA_MS_MAX, STARTING, Readiness


class Parts:
    def __init__(self, *, broker: bool = True) -> None:
        self.now_ms, self.epoch, self.active = 1000, 5, True
        self.quorum: Any = SimpleNamespace(high_watermark=11, leader=object())
        self.image: Any = SimpleNamespace(provenance=SimpleNamespace(offset=10), cluster=SimpleNamespace(active=lambda _: self.active))
        self.directories = Directories()
        self.readiness = Readiness(1, SimpleNamespace(monotonic_ms=lambda: self.now_ms, wall_ms=lambda: 0))
        self.readiness.watch(
            self.quorum,  # type: ignore[arg-type]
            SimpleNamespace(image=self.image),  # type: ignore[arg-type]
            self.directories,  # type: ignore[arg-type]
            broker_epoch=(lambda: self.epoch) if broker else None,
        )

    def reason(self) -> str:
        return " ".join(self.readiness.problems())


class Directories(list[Any]):
    unopened = ()


def test_a_node_starts_as_not_ready() -> None:
    assert Parts().readiness.phase == STARTING


def test_a_registered_unfenced_node_is_ready() -> None:
    assert Parts().reason() == ""


@pytest.mark.parametrize(("epoch", "active", "word"), [(UNKNOWN_EPOCH, False, "registered"), (5, False, "fenced")])
def test_a_broker_without_the_controllers_consent_is_not_ready(epoch: int, active: bool, word: str) -> None:
    parts = Parts()
    parts.epoch, parts.active = epoch, active
    assert word in parts.reason()


def test_a_controller_needs_no_registration_as_a_broker() -> None:
    parts = Parts(broker=False)
    parts.epoch, parts.active = UNKNOWN_EPOCH, False
    assert parts.reason() == ""


def test_a_failed_directory_is_named() -> None:
    parts = Parts()
    parts.directories.append(SimpleNamespace(path="/data/1", online=False))
    parts.directories.append(SimpleNamespace(path="/data/2", online=True))
    assert "/data/1" in parts.reason()
    assert "/data/2" not in parts.reason()


def test_metadata_that_is_applied_late_makes_a_node_unready_only_when_it_stays_behind() -> None:
    parts = Parts()
    parts.quorum.high_watermark = 5000
    assert parts.reason() == ""
    parts.now_ms += METADATA_MS_MAX
    assert parts.reason() == ""
    parts.now_ms += 1
    assert "4989 records behind" in parts.reason()
    parts.image.provenance.offset = 4999
    assert parts.reason() == ""


def test_metadata_that_moves_on_never_makes_a_node_unready() -> None:
    parts = Parts()
    for _ in range(100):
        parts.quorum.high_watermark += 1000
        parts.now_ms += METADATA_MS_MAX - 1
        assert parts.reason() == ""
        parts.image.provenance.offset += 1000


def test_a_quorum_without_a_leader_makes_a_node_unready_after_a_while() -> None:
    parts = Parts()
    assert parts.reason() == ""
    parts.quorum.leader = None
    # The time counts from the first probe that finds no leader: the last one may be long ago.
    parts.now_ms += 10 * METADATA_MS_MAX
    assert parts.reason() == ""
    parts.now_ms += METADATA_MS_MAX
    assert parts.reason() == ""
    parts.now_ms += 1
    assert "leader" in parts.reason()
    parts.quorum.leader = object()
    assert parts.reason() == ""
