"""AddOffsetsToTxn and TxnOffsetCommit."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from tests.conformance.differential.group_requests import fetch, join, sync
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Scene
from tests.conformance.differential.transaction_requests import add_offsets, commit_offsets, end
from tests.conformance.differential.transactions import (
    OLD_END,
    at_rest,
    began,
    shown,
)

pytestmark = pytest.mark.usefixtures("coordinators")


@pytest.mark.parametrize("version", range(6))
def test_add_offsets_to_txn_and_txn_offset_commit_of_any_group(pair: Pair, version: int) -> None:
    name = f"offsets-{version}"
    topic = pair.create(f"tx-{name}", 2)
    with Scene(pair) as scene:
        began(scene, name)
        scene.same(lambda the: commit_offsets(name, the["p"], 0, name, topic, (0, 1)), version)
        for group in ("", name):
            scene.same(lambda the, group=group: add_offsets(name, the["p"], 0, group), min(version, 4))
        shown(scene, name)
        scene.same(lambda the: commit_offsets(name, the["p"], 0, "", topic, (0, 1)), version)
        scene.same(lambda the: commit_offsets(name, the["p"], 0, name, topic, (0, 1), (7, 1), (-1, 1)), version)
        scene.same(lambda the: commit_offsets(name, the["p"], 0, name, "no-such-topic", (0, 1)), version)
        scene.same(lambda the: commit_offsets(name, the["p"], 0, name, topic), version)
        scene.same(lambda the: commit_offsets(name, the["p"], 0, name, topic, (0, 1), metadata="x" * 4097), version)
        scene.same(lambda the: commit_offsets(name, the["p"], 0, name, topic, (1, 1), metadata=None), version)
        scene.same(lambda the: fetch(the, 9, name, None, stable=True), 9)
        scene.same(lambda the: end(name, the["p"], 0, commit=True), min(version, OLD_END), expect=ErrorCode.NONE)
        at_rest(scene, name)
        scene.same(lambda the: fetch(the, 9, name, None, stable=True), 9)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_txn_offset_commit_needs_the_present_generation(pair: Pair, version: int) -> None:
    """A producer that commits for a group must have its present generation (KIP-447)."""
    name = f"members-{version}"
    topic = pair.create(f"tx-{name}")
    with Scene(pair) as scene:
        began(scene, name)
        scene.same(lambda the: add_offsets(name, the["p"], 0, name), 3)
        for generation in (0, 1):
            scene.same(lambda the, n=generation: commit_offsets(name, the["p"], 0, name, topic, (0, 1), generation=n, member="x"), version)
        scene.same(join(name), by="a", learns={"a": "member_id"}, expect=ErrorCode.MEMBER_ID_REQUIRED)
        scene.same(lambda the: join(name, the["a"]), by="a", expect=ErrorCode.NONE)
        for _ in ("completing", "stable"):
            for member in ("", "stranger", "a"):
                for generation in (-1, 0, 1, 2):
                    for instance in (None, "one"):
                        scene.same(
                            lambda the, member=member, generation=generation, instance=instance: commit_offsets(
                                name,
                                the["p"],
                                0,
                                name,
                                topic,
                                (0, 1),
                                generation=generation,
                                member=the["a"] if member == "a" else member,
                                instance=instance,
                            ),
                            version,
                        )
            scene.same(lambda the: sync(name, 1, the["a"], (the["a"], b"")), by="a", expect=ErrorCode.NONE)
