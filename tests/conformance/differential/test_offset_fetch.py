"""OffsetFetch, for groups without members."""

from __future__ import annotations

import pytest

from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.conformance.differential.offset_requests import (
    GROUPS_VERSIONS,
    committed,
    deleted,
    fetched,
)
from tests.conformance.differential.pair import Pair, Peer


@pytest.mark.parametrize("group", ["", "nobody", "\u00e9" * 100])
def test_offset_fetch_of_a_missing_group_finds_no_offsets(pair: Pair, read: str, group: str) -> None:
    # Other tests commit for the group without a name, too. Version 10 has topic ids, which come in
    # another order on each side.
    versions = range(2, 11) if group else range(2, 10)
    pair.same(fetched(group, [(read, [0])]))
    pair.same(fetched(group, None), versions)
    pair.same(deleted(group, (read, 0)))
    pair.same(committed(group, (read, 0, 1), generation=3, member_id="m"))
    pair.same(committed(group, (read, 0, 1), member_id="m"))
    pair.same(fetched(group, None), versions)


def test_offset_fetch_takes_several_groups(pair: Pair, read: str) -> None:
    def question(peer: Peer, version: int) -> OffsetFetchRequest:
        topics = [OffsetFetchRequestTopics(name=read, topic_id=peer.topic_id(read), partition_indexes=[0])]
        return OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(group_id="several", topics=topics),
                OffsetFetchRequestGroup(group_id="nobody at all", topics=None),
                OffsetFetchRequestGroup(group_id="several", topics=None),
                OffsetFetchRequestGroup(group_id="several", topics=[], member_id="m", member_epoch=5),
            ]
        )

    pair.same(committed("several", (read, 0, 5)), [9])
    pair.same(question, GROUPS_VERSIONS)
    pair.same(OffsetFetchRequest(groups=[]), GROUPS_VERSIONS)
