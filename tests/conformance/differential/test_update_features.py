"""UpdateFeatures."""

from __future__ import annotations

import pytest

from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.conformance.differential.listeners import BOTH_LISTENERS
from tests.conformance.differential.pair import Pair


def updating(*updates: tuple[str, int, int]) -> UpdateFeaturesRequest:
    return UpdateFeaturesRequest(
        feature_updates=[FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind) for name, level, kind in updates],
        validate_only=True,
    )


UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


@BOTH_LISTENERS
@pytest.mark.parametrize(
    "updates",
    [
        [("metadata.version", 30, UPGRADE)],
        [("metadata.version", 30, SAFE_DOWNGRADE)],
        [("metadata.version", 30, UNSAFE_DOWNGRADE)],
        [("metadata.version", 30, 0)],
        [("metadata.version", 30, 9)],
        [("metadata.version", 99, UPGRADE)],
        [("metadata.version", 0, UPGRADE)],
        [("metadata.version", 0, UNSAFE_DOWNGRADE)],
        [("metadata.version", -1, UPGRADE)],
        [("no.such.feature", 1, UPGRADE)],
        [("no.such.feature", 0, SAFE_DOWNGRADE)],
        [("", 1, UPGRADE)],
        [("metadata.version", 30, UPGRADE), ("no.such.feature", 1, UPGRADE)],
        [("metadata.version", 30, UPGRADE), ("metadata.version", 30, UPGRADE)],
        [],
    ],
    ids=str,
)
def test_update_features_accepts_and_refuses_the_same_levels(pair: Pair, updates: list[tuple[str, int, int]], to_controller: bool) -> None:
    pair.same(updating(*updates), to_controller=to_controller)


def test_update_features_version_0_takes_a_flag_for_downgrades(pair: Pair) -> None:
    for level, down in ((30, False), (30, True), (99, False), (0, False)):
        updates = [FeatureUpdateKey(feature="metadata.version", max_version_level=level, allow_downgrade=down)]
        pair.same(UpdateFeaturesRequest(feature_updates=updates), [0])
