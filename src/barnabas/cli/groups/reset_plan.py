"""The plan of a reset: from the target and the ends of the logs to offsets, and its output."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from barnabas.administration.offset_reset import Known, Partition, Plan, ResetRefused, Target, ToPlanned, ToTime, plan_reset
from barnabas.cli.errors import Refused
from barnabas.cli.groups.offsets import existing_partitions, led_partitions, log_ends, offsets_at
from barnabas.cli.terminal.output import print_json, print_table

if TYPE_CHECKING:
    from barnabas.cli.cluster.client import Admin

_MISSING = "-"


def make_plan(admin: Admin, target: Target, named: dict[str, set[int]] | None, committed: Mapping[Partition, int]) -> Plan:
    if isinstance(target, ToPlanned):
        partitions = list(target.offsets)
    elif named is None:
        # An offset may have outlived its topic; it needs no reset then.
        partitions = led_partitions(admin, committed.keys())
    else:
        partitions = existing_partitions(admin, named)
    ends = log_ends(admin, partitions)
    at_time = offsets_at(admin, list(ends), target.timestamp_ms) if isinstance(target, ToTime) else {}
    try:
        return plan_reset(target, partitions, Known(ends, committed, at_time))
    except ResetRefused as refused:
        raise Refused(str(refused)) from refused


def print_plan(group: str, plan: Plan, committed: Mapping[Partition, int], *, execute: bool, export: bool, as_json: bool) -> None:
    if export:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows((each.topic, each.number, offset) for each, offset in plan.offsets.items())
        typer.echo(text.getvalue(), nl=False)
        return
    if as_json:
        print_json(
            [
                {"topic": each.topic, "partition": each.number, "offset": committed.get(each), "new_offset": offset}
                for each, offset in plan.offsets.items()
            ]
        )
        return
    if not plan.offsets:
        typer.echo(f"Group {group} has no offsets to reset.")
        return
    print_table(
        ("Topic", "Partition", "Offset", "New offset"),
        [(each.topic, each.number, committed.get(each, _MISSING), offset) for each, offset in plan.offsets.items()],
    )
    typer.echo(f"\nReset group {group}." if execute else "\nNothing was changed; --execute sets these offsets.")
