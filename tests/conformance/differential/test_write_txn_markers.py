"""WriteTxnMarkers."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Scene
from tests.conformance.differential.transaction_requests import produce
from tests.conformance.differential.transactions import (
    NEW_PRODUCE,
    began,
    shown,
)

pytestmark = pytest.mark.usefixtures("coordinators")


@pytest.mark.parametrize("version", [1, 2])
def test_write_txn_markers_of_an_operator_end_a_transaction(pair: Pair, version: int) -> None:
    """``kafka-transactions abort`` sends this request for a hanging transaction; it must not affect
    other transactions."""
    topic = pair.create(f"tx-markers-{version}", 2)
    name = f"markers-{version}"

    def marking(
        producer_id: int, epoch: int, topics: list[tuple[str, list[int]]], *, coordinator_epoch: int = 0, commit: bool = False, tv: int = 0
    ) -> WriteTxnMarkersRequest:
        marker = WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=epoch,
            transaction_result=commit,
            topics=[WritableTxnMarkerTopic(name=each, partition_indexes=partitions) for each, partitions in topics],
            coordinator_epoch=coordinator_epoch,
            transaction_version=tv,
        )
        return WriteTxnMarkersRequest(markers=[marker])

    with Scene(pair) as scene:
        began(scene, name)
        scene.same(lambda the: produce(name, the["p"], 0, topic), NEW_PRODUCE)
        not_there: list[Any] = [[(topic, [7])], [("no-such-topic", [0])]]
        for topics in not_there:
            scene.same(lambda the, topics=topics: marking(the["p"], 0, topics), version)
        nowhere: list[Any] = [[(topic, [])], []]
        for topics in nowhere:
            why = {"markers": "Kafka leaves out markers for no partitions"}
            scene.same(lambda the, topics=topics: marking(the["p"], 0, topics), version, differ=why)
        scene.same(WriteTxnMarkersRequest(markers=[]), version)
        for options in (
            {"coordinator_epoch": -1},
            {"coordinator_epoch": 5},
            {"coordinator_epoch": 3},
            {"coordinator_epoch": 5, "commit": True},
        ):
            scene.same(lambda the, options=options: marking(the["p"], 0, [(topic, [0, 1])], **options), version)
            shown(scene, name, topic)
        # Kafka answers UNKNOWN_SERVER_ERROR to an epoch below 0.
        for epoch in (1, 0):
            scene.same(lambda the, epoch=epoch: marking(the["p"], epoch, [(topic, [0])], coordinator_epoch=5), version)
            shown(scene, name, topic)
        if version >= 2:
            scene.same(lambda the: produce(name, the["p"], 2, topic), NEW_PRODUCE)
            for epoch in (0, 1, 2, 3, 3, 4):
                scene.same(lambda the, epoch=epoch: marking(the["p"], epoch, [(topic, [0])], coordinator_epoch=5, tv=2), version)
                shown(scene, name, topic)
