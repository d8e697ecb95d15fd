"""Samples the lag of groups that a principal has looked at, for their history.

A sample asks each coordinator once for all of these groups, and each leader once for their
partitions. It begins with the first page of groups, and ends with the client, or when no page was
looked at for :data:`WATCH_SECONDS`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Final

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.group_progress import progress_of, timed
from barnabas.console.access.groups import GroupListing, all_groups
from barnabas.console.core.group_lag import Progress, longest, total_lag
from barnabas.console.core.lag_history import LagHistories, LagHistory
from barnabas.console.errors import ConsoleError
from barnabas.console.limits import SESSION_SECONDS

SAMPLE_SECONDS: Final = 15.0
# The credentials of a person are not used for longer than a session would last.
WATCH_SECONDS: Final = SESSION_SECONDS
# Samples between two looks at the list of groups: coordinators move, and groups are deleted.
_SAMPLES_PER_LISTING: Final = 20


class LagWatch:
    def __init__(self) -> None:
        self.histories = LagHistories(SAMPLE_SECONDS * 0.8)
        self._listings: dict[str, GroupListing] = {}
        self._seen = 0.0
        self._task: asyncio.Task[None] | None = None

    def watch(self, client: ClusterClient, listings: Iterable[GroupListing]) -> None:
        given = {each.id: each for each in listings}
        self.histories.watch(given)
        self._listings.update(given)
        # A deleted group keeps its history for a while, and has no listing any more.
        self._listings = {each: self._listings[each] for each in self.histories.groups if each in self._listings}
        self._seen = time.monotonic()
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._sample_on(client))

    def add(self, group: str, rows: Iterable[Progress]) -> None:
        """What a page has just read is a sample too."""
        listed = list(rows)
        lag = total_lag(listed)
        if lag is not None:
            self.histories.add(group, time.time(), lag, longest(each.lag_seconds for each in listed))

    def forget(self, group: str) -> None:
        self.histories.forget(group)
        self._listings.pop(group, None)

    def history(self, group: str) -> LagHistory:
        return self.histories.history(group)

    async def _sample_on(self, client: ClusterClient) -> None:
        count = 0
        while True:
            await asyncio.sleep(SAMPLE_SECONDS)
            if self._is_over(client):
                return
            count += 1
            try:
                if count % _SAMPLES_PER_LISTING == 0:
                    listed = await all_groups(client)
                    self._listings = {each: listed[each] for each in self._listings if each in listed}
                await self.sample(client)
            except ConsoleError:
                # The cluster does not answer: the history has a gap.
                continue
            except RuntimeError:
                # The threads of a console that stops take no more work.
                if self._is_over(client):
                    return
                raise

    def _is_over(self, client: ClusterClient) -> bool:
        return client.is_closed or time.monotonic() - self._seen > WATCH_SECONDS

    async def sample(self, client: ClusterClient) -> None:
        found = await progress_of(client, list(self._listings.values()))
        flat = await timed(client, [each for rows in found.values() for each in rows], with_span=False)
        at = 0
        for group, rows in found.items():
            self.add(group, flat[at : at + len(rows)])
            at += len(rows)
