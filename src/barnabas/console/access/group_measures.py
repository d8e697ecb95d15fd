"""Members, partitions and lag of all groups, for a list that is ordered by them.

Coordinators list groups without these numbers, so every group must be asked about. A *walk* does so
in portions and remembers the numbers; a page waits for it for a moment and then uses what is known,
so it answers at once for any number of groups. The pages of one list share a walk, so that no group
changes its place while a person turns them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Final

from barnabas.console.access.catalog import topics_named
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.group_descriptions import describe_groups
from barnabas.console.access.groups import GroupListing, group_offsets
from barnabas.console.access.offsets import bounds
from barnabas.console.core.group_order import GroupMeasure, measure
from barnabas.console.core.topic import Bounds, TopicPartition
from barnabas.console.errors import ConsoleError

# A page answers in less than a second, and has to be made after the wait.
WAIT_SECONDS_MAX: Final = 0.4
# How long the numbers of a walk decide the order. A walk of 10,000 groups takes seconds.
WALK_SECONDS: Final = 15.0
# Groups that one step of the walk asks about: other pages are served between steps.
_GROUPS_AT_ONCE: Final = 200
# In these states a group has no members, so its coordinator is not asked for them.
_WITHOUT_MEMBERS: Final = frozenset({"Empty", "Dead"})


class GroupMeasures:
    def __init__(self) -> None:
        self.known: dict[str, GroupMeasure] = {}
        """Numbers of the last walk, replaced by those of the present one as it goes."""
        self._walked: set[str] = set()
        self._began = 0.0
        self._task: asyncio.Task[None] | None = None

    async def of(self, client: ClusterClient, groups: Sequence[GroupListing]) -> Mapping[str, GroupMeasure]:
        """The numbers of these groups, as far as they are known after :data:`WAIT_SECONDS_MAX`."""
        wanted = {each.id for each in groups}
        is_running = self._task is not None and not self._task.done()
        is_fresh = time.monotonic() - self._began < WALK_SECONDS and wanted <= self._walked
        if not is_running and not is_fresh:
            self._walked = set()
            self._began = time.monotonic()
            self._task = asyncio.get_running_loop().create_task(self._walk(client, groups))
        if self._task is not None:
            done, _ = await asyncio.wait([self._task], timeout=WAIT_SECONDS_MAX)
            for each in done:
                each.result()
        return {each: self.known[each] for each in wanted if each in self.known}

    async def _walk(self, client: ClusterClient, groups: Sequence[GroupListing]) -> None:
        ends: dict[TopicPartition, Bounds] = {}
        topics: set[str] = set()
        asked = {each.id for each in groups}
        # Groups that were deleted, or that another search found, are forgotten, so there are never
        # more numbers than groups.
        self.known = {each: found for each, found in self.known.items() if each in asked}
        for at in range(0, len(groups), _GROUPS_AT_ONCE):
            if self._is_over(client):
                return
            try:
                await self._step(client, groups[at : at + _GROUPS_AT_ONCE], ends, topics)
            except ConsoleError:
                # The groups of this step stay without numbers; the page shows them last.
                continue
            except RuntimeError:
                # The threads of a console that stops take no more work.
                if self._is_over(client):
                    return
                raise

    def _is_over(self, client: ClusterClient) -> bool:
        # A call, because the client may be closed between two looks at the same attribute.
        return client.is_closed

    async def _step(
        self, client: ClusterClient, groups: Sequence[GroupListing], ends: dict[TopicPartition, Bounds], topics: set[str]
    ) -> None:
        with_members = [each for each in groups if each.state not in _WITHOUT_MEMBERS]
        offsets, described = await asyncio.gather(group_offsets(client, groups), describe_groups(client, with_members))
        new = {place.topic for found in offsets.values() for place in found} - topics
        topics |= new
        ends.update(await bounds(client, await topics_named(client, new)))
        for each in groups:
            group = described.get(each.id)
            members = 0 if each.state in _WITHOUT_MEMBERS else len(group.members) if group is not None else None
            self.known[each.id] = measure(members, offsets.get(each.id, {}), ends)
        self._walked |= {each.id for each in groups}
