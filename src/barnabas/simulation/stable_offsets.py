"""OffsetFetch with ``require_stable``, and the checker's verdict on the response."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.model.errors import ErrorCode
from barnabas.simulation.coordinator_client import OF_GROUPS, PASSING, CoordinatorClient
from barnabas.simulation.transaction_ledger import BEGINNING
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics

if TYPE_CHECKING:
    from barnabas.simulation.group_member import GroupMember

INPUT, GROUP = "in", "copiers"
# The last version that names topics.
_VERSION = 9


async def stable_offsets(
    client: CoordinatorClient, partitions: Sequence[int], member: GroupMember | None = None
) -> tuple[ErrorCode, dict[int, int] | None]:
    """The group's offsets, of all ``partitions`` or of none; 0 where it has not begun."""
    world = client.world
    node = await client.coordinator_of(OF_GROUPS, GROUP)
    topics = [OffsetFetchRequestTopics(name=INPUT, partition_indexes=list(partitions))]
    asked = OffsetFetchRequestGroup(group_id=GROUP, topics=topics)
    if member is not None and member.has_epoch:
        asked.member_id, asked.member_epoch = member.member_id, member.generation
    question, epoch = world.ledger.asks(), world.epoch_of_coordinator(node)
    request = OffsetFetchRequest(groups=[asked], require_stable=True)
    # The request goes to this node, of which the checker knows whether it leads, even if the client
    # looks up another coordinator meanwhile.
    answer = await client.ask(node, request, version_max=_VERSION)
    code = answer if isinstance(answer, ErrorCode) else ErrorCode(answer.groups[0].error_code)
    if code:
        if code in PASSING:
            client.forget_coordinator(OF_GROUPS, GROUP)
        return code, None
    by_coordinator = epoch is not None and epoch == world.epoch_of_coordinator(node)
    offsets = {}
    for each in answer.groups[0].topics[0].partitions:
        if each.error_code:
            code = ErrorCode(each.error_code)
            continue
        world.ledger.answered(question, each.partition_index, each.committed_offset, client.host.name, by_coordinator=by_coordinator)
        offsets[each.partition_index] = max(each.committed_offset, BEGINNING)
    return code, None if code else offsets
