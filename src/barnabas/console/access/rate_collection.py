"""Collects rates of a cluster beside requests: from the metrics pages of its nodes, and from
offsets and sizes of logs.

Offsets are read with the settings' own login. A console whose people log in has none, and keeps no
rates of a cluster without metrics pages.
"""

from __future__ import annotations

import asyncio
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Final

from barnabas.console.access.catalog import all_topics
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.log_dirs import log_directories
from barnabas.console.access.offsets import At, list_offsets
from barnabas.console.core.cluster_rates import NAMES, counters_of, shown_rates
from barnabas.console.core.prometheus_text import read_metrics
from barnabas.console.core.rate_history import FINE_SECONDS, Counters, Point, Series, rates
from barnabas.console.errors import ConsoleError
from barnabas.console.limits import LISTED_PARTITIONS_MAX

PAGE_SECONDS_MAX: Final = 5.0
PAGE_BYTES_MAX: Final = 32 * 1024 * 1024
# The source of rates that come from the cluster and not from a node's page.
_CLUSTER: Final = "cluster"


class RateCollection:
    """The rates of one cluster."""

    def __init__(self, client: ClusterClient, *, reads_offsets: bool) -> None:
        self._client = client
        self._pages = client.settings.metrics
        self._reads_offsets = reads_offsets
        self._before: Counters | None = None
        self._series: dict[str, Series] = {}
        self.problems: dict[str, str] = {}
        """By address: why a page could not be read the last time."""

    @property
    def is_possible(self) -> bool:
        return bool(self._pages) or self._reads_offsets

    def series(self, name: str) -> Series | None:
        return self._series.get(name)

    async def run(self) -> None:
        while True:
            try:
                await self.collect(time.time())
            except Exception as error:  # noqa: BLE001 - the outermost frame of the task
                self.problems[_CLUSTER] = f"The rates could not be read: {error!r}."
            await asyncio.sleep(FINE_SECONDS)

    async def collect(self, now: float) -> None:
        pages = zip(self._pages, await asyncio.gather(*map(self._page, self._pages)), strict=True)
        values: dict[str, Mapping[str, float]] = {address: found for address, found in pages if found is not None}
        if self._reads_offsets:
            values |= await self._logs(has_pages=bool(self._pages))
        counters = Counters(now, values)
        if self._before is not None:
            for name, value in shown_rates(rates(self._before, counters)).items():
                self._series.setdefault(name, Series()).add(Point(int(now), value))
        self._before = counters

    async def _page(self, address: str) -> dict[str, float] | None:
        try:
            text = await self._client.run(_read, address)
        except (OSError, ValueError) as error:
            self.problems[address] = f"{address} cannot be read: {error}."
            return None
        self.problems.pop(address, None)
        return counters_of(read_metrics(text, NAMES))

    async def _logs(self, *, has_pages: bool) -> dict[str, Mapping[str, float]]:
        """Each partition is a source of its own, so that a leader that does not answer for a while
        does not look like records that come all at once."""
        found: dict[str, Mapping[str, float]] = {}
        try:
            topics = list((await all_topics(self._client)).values())
            if sum(len(each.partitions) for each in topics) > LISTED_PARTITIONS_MAX:
                return {}
            brokers = [each.id for each in (await self._client.brokers()).brokers]
            directories, failed = await log_directories(self._client, brokers, None)
            if not failed:
                found[_CLUSTER] = {"log_bytes": float(sum(one.size_bytes for each in directories for one in each.replicas))}
            if not has_pages:
                ends = await list_offsets(self._client, topics, At.LATEST)
                found |= {f"{each.topic}/{each.partition}": {"records_in": float(end.offset)} for each, end in ends.items()}
        except ConsoleError as error:
            self.problems[_CLUSTER] = error.sentence
            return {}
        self.problems.pop(_CLUSTER, None)
        return found


def _read(address: str) -> str:
    with urllib.request.urlopen(address, timeout=PAGE_SECONDS_MAX) as response:  # noqa: S310
        data: bytes = response.read(PAGE_BYTES_MAX)
    return data.decode("utf-8", "replace")
