"""The watch of groups' lag, while groups are deleted."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.console.access import lag_watch
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.groups import GroupListing
from barnabas.console.access.lag_watch import SAMPLE_SECONDS, LagWatch
from tests.unit import simulated


def test_groups_are_watched_on_when_one_of_them_was_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, deleted = (cast(GroupListing, SimpleNamespace(id=each)) for each in ("kept", "deleted"))
    sampled: list[list[str]] = []

    async def all_groups(client: ClusterClient) -> dict[str, GroupListing]:
        return {"kept": kept}

    async def progress_of(client: ClusterClient, listings: list[GroupListing]) -> dict[str, list[Any]]:
        sampled.append([each.id for each in listings])
        return {}

    async def timed(client: ClusterClient, rows: list[Any], *, with_span: bool) -> list[Any]:
        return rows

    monkeypatch.setattr(lag_watch, "all_groups", all_groups)
    monkeypatch.setattr(lag_watch, "progress_of", progress_of)
    monkeypatch.setattr(lag_watch, "timed", timed)
    monkeypatch.setattr(lag_watch, "_SAMPLES_PER_LISTING", 2)
    monkeypatch.setattr(lag_watch, "time", SimpleNamespace(monotonic=lambda: 1.0, time=lambda: 1.0))
    client = cast(ClusterClient, SimpleNamespace(is_closed=False))

    async def main() -> None:
        watch = LagWatch()
        watch.watch(client, [kept, deleted])
        await asyncio.sleep(2.5 * SAMPLE_SECONDS)
        watch.watch(client, [kept])
        await asyncio.sleep(SAMPLE_SECONDS)
        client.is_closed = True
        await asyncio.sleep(SAMPLE_SECONDS)

    simulated.run(main())
    assert sampled == [["kept", "deleted"], ["kept"], ["kept"]]
