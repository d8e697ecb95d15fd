"""TxnOffsetCommit of unknown producers; transactions are in
``test_add_offsets_to_txn_and_txn_offset_commit``.
"""

from __future__ import annotations

import pytest

from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.conformance.differential.pair import Pair, Peer


@pytest.mark.parametrize("group", ["", "in a transaction"])
def test_txn_offset_commit_of_an_unknown_producer_is_refused(pair: Pair, read: str, group: str) -> None:
    def question(peer: Peer, version: int) -> TxnOffsetCommitRequest:
        return TxnOffsetCommitRequest(
            transactional_id="nobody's",
            group_id=group,
            producer_id=4_000_000,
            producer_epoch=0,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=name,
                    partitions=[
                        TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=1, committed_metadata="")
                        for index in (0, 7)
                    ],
                )
                for name in (read, "missing")
            ],
        )

    pair.same(question)
