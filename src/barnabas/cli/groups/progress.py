"""The progress of a group: its offset and lag in each partition, and the member that has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from barnabas.administration.offset_reset import Partition
from barnabas.cli.groups.offsets import log_ends
from barnabas.cli.groups.tables import MISSING, Table

if TYPE_CHECKING:
    from barnabas.cli.cluster.client import Admin


class Owner(Protocol):
    @property
    def member_id(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def client_id(self) -> str: ...


def progress_of(
    owners: Mapping[Partition, Owner], idle: Iterable[Owner], admin: Admin, committed: Mapping[Partition, int]
) -> list[dict[str, Any]]:
    """A row for every partition that is assigned or has an offset, and for every ``idle`` member,
    which has none."""
    partitions = sorted(committed.keys() | owners.keys())
    ends = log_ends(admin, partitions)
    rows: list[dict[str, Any]] = []
    for partition in partitions:
        offset = committed.get(partition)
        end = ends[partition].end if partition in ends else None
        lag = None if offset is None or end is None else end - offset
        rows.append(_row(partition, offset, end, lag, owners.get(partition)))
    return rows + [_row(None, None, None, None, each) for each in idle]


def _row(partition: Partition | None, offset: int | None, end: int | None, lag: int | None, owner: Owner | None) -> dict[str, Any]:
    return {
        "topic": partition.topic if partition else None,
        "partition": partition.number if partition else None,
        "offset": offset,
        "log_end_offset": end,
        "lag": lag,
        "member_id": owner.member_id if owner else None,
        "host": owner.host if owner else None,
        "client_id": owner.client_id if owner else None,
    }


def offsets_table(progress: list[dict[str, Any]]) -> Table:
    columns = ("Topic", "Partition", "Offset", "Log end offset", "Lag", "Member", "Host", "Client")
    rows = [tuple(MISSING if value is None else value for value in row.values()) for row in progress]
    return Table(columns, rows, "no offsets and no members")
