"""InitProducerId with a transactional id."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Scene
from tests.conformance.differential.transaction_requests import add, end, init, produce
from tests.conformance.differential.transactions import (
    NEW_END,
    NEW_PRODUCE,
    OLD_ADD,
    OLD_END,
    OLD_PRODUCE,
    at_rest,
    shown,
)

pytestmark = pytest.mark.usefixtures("coordinators")


@pytest.mark.parametrize("version", range(6))
def test_init_producer_id_refuses_wrong_timeouts_and_identities(scene: Scene, version: int) -> None:
    scene.same(init(""), version)
    for timeout_ms in (0, -1, 900_001, 2**31 - 1):
        scene.same(init(f"timeout-{version}", timeout_ms=timeout_ms), version)
        scene.same(init(None, timeout_ms=timeout_ms), version)
    scene.same(init(f"timeout-{version}", timeout_ms=900_000), version)
    scene.same(init(f"timeout-{version}", timeout_ms=1), version)
    if version >= 3:
        for transactional_id in (None, "", f"given-{version}"):
            for given in ((5, -1), (-1, 5), (-2, -2), (10**15, 3), (10**15, 32767)):
                scene.same(init(transactional_id, producer_id=given[0], epoch=given[1]), version)
                shown(scene, f"given-{version}")


@pytest.mark.parametrize("version", range(6))
def test_init_producer_id_fences_the_producer_before(scene: Scene, version: int) -> None:
    transactional_id = f"again-{version}"
    shown(scene, transactional_id)
    for _ in range(3):
        scene.same(init(transactional_id), version, learns={"p": "producer_id"}, expect=ErrorCode.NONE)
        shown(scene, transactional_id)
    scene.same(init(transactional_id, timeout_ms=5000), version)
    shown(scene, transactional_id)
    if version >= 3:
        # Epoch 3 is the current one: a producer with it continues, also when it repeats a request
        # whose answer was lost.
        for epoch in (3, 3, 2, 4, 4, 3, 9, 5):
            scene.same(lambda the, epoch=epoch: init(transactional_id, producer_id=the["p"], epoch=epoch), version)
            shown(scene, transactional_id)
        scene.same(lambda the: init(transactional_id, producer_id=the["p"] + 10**6, epoch=5), version)


def test_init_producer_id_aborts_an_open_transaction(pair: Pair) -> None:
    topic = pair.create("tx-taken-over")
    for version in (0, 2, 3, 4, 5):
        for produced, ending in ((OLD_PRODUCE, OLD_END), (NEW_PRODUCE, NEW_END)):
            name = f"taken-over-{version}-{produced}"
            with Scene(pair) as scene:
                scene.same(init(name), version, learns={"p": "producer_id"}, expect=ErrorCode.NONE)
                if produced == OLD_PRODUCE:
                    scene.same(lambda the, name=name: add(OLD_ADD, name, the["p"], 0, [(topic, [0])]), OLD_ADD)
                scene.same(lambda the, name=name: produce(name, the["p"], 0, topic), produced)
                scene.same(init(name), version, expect=ErrorCode.CONCURRENT_TRANSACTIONS)
                at_rest(scene, name)
                shown(scene, name, topic)
                scene.same(init(name), version, expect=ErrorCode.NONE)
                shown(scene, name, topic)
                for epoch in (0, 1):
                    scene.same(lambda the, name=name, epoch=epoch: produce(name, the["p"], epoch, topic, sequence=1), produced)
                    scene.same(lambda the, name=name, epoch=epoch: end(name, the["p"], epoch, commit=True), ending)
                    scene.same(lambda the, name=name, epoch=epoch: init(name, producer_id=the["p"], epoch=epoch), max(version, 3))
                shown(scene, name, topic)
