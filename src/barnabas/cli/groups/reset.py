"""``barnabas groups reset-offsets``: change the offsets from which a group continues. A dry run
unless --execute is given.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.cluster.broker_requests import Brokers
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import reach
from barnabas.cli.errors import Refused
from barnabas.cli.groups.description import describe_group
from barnabas.cli.groups.offsets import (
    Group,
    Partition,
    Topics,
    commit_offsets,
    committed_offsets,
    existing_partitions,
    led_partitions,
    log_ends,
    offsets_at,
    parse_partitions,
)
from barnabas.cli.groups.reset_target import (
    Known,
    Plan,
    ShiftBy,
    Target,
    ToCurrent,
    ToEarliest,
    ToLatest,
    ToOffset,
    ToPlanned,
    ToTime,
    parse_datetime,
    parse_duration,
    parse_plan,
    plan_reset,
)
from barnabas.cli.terminal.output import AsJson, print_json, print_table

if TYPE_CHECKING:
    from barnabas.cli.cluster.client import Admin

_MISSING = "-"


def reset_offsets(
    group: Group,
    topic: Topics = [],  # noqa: B006
    all_topics: Annotated[bool, typer.Option("--all-topics", help="All partitions in which the group has committed an offset.")] = False,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="To the first record of each partition.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="To the end of each partition.")] = False,
    to_current: Annotated[bool, typer.Option("--to-current", help="To the committed offset.")] = False,
    to_datetime: Annotated[
        str | None, typer.Option("--to-datetime", metavar="ISO", help="To the first record at or after this time; UTC if it has no zone.")
    ] = None,
    by_duration: Annotated[
        str | None, typer.Option("--by-duration", metavar="PnDTnHnMnS", help="To the first record that is not older than this.")
    ] = None,
    shift_by: Annotated[int | None, typer.Option("--shift-by", metavar="N", help="This many records forward, or back if negative.")] = None,
    to_offset: Annotated[int | None, typer.Option("--to-offset", metavar="N", help="To this offset.")] = None,
    from_file: Annotated[
        Path | None,
        typer.Option(
            "--from-file", metavar="CSV", help="To the offsets in a file of topic,partition,offset lines, as --export prints them."
        ),
    ] = None,
    execute: Annotated[bool, typer.Option("--execute", help="Commit the new offsets; without this nothing is changed.")] = False,
    export: Annotated[bool, typer.Option("--export", help="Print the new offsets as CSV.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Show the new offsets of a group without members; --execute commits them."""
    target = _target(
        group,
        to_earliest=to_earliest,
        to_latest=to_latest,
        to_current=to_current,
        to_datetime=to_datetime,
        by_duration=by_duration,
        shift_by=shift_by,
        to_offset=to_offset,
        from_file=from_file,
    )
    named = _scope(target, topic, all_topics)
    cluster = reach(bootstrap, config_file)
    brokers = Brokers(cluster)
    # The group need not exist: one use of this command is to set offsets before the first member
    # joins.
    described = describe_group(brokers, group)
    if described is not None and described.members:
        raise Refused(f"Offsets can only be reset while a group has no members, but group {group} has {len(described.members)}.")
    committed = committed_offsets(brokers, group)
    plan = _plan(cluster.admin(), target, named, committed)
    for remark in plan.remarks:
        typer.echo(f"barnabas: {remark}", err=True)
    if execute and plan.offsets:
        commit_offsets(brokers, group, plan.offsets)
    _print_plan(group, plan, committed, execute=execute, export=export, as_json=as_json)


def _target(
    group: str,
    *,
    to_earliest: bool,
    to_latest: bool,
    to_current: bool,
    to_datetime: str | None,
    by_duration: str | None,
    shift_by: int | None,
    to_offset: int | None,
    from_file: Path | None,
) -> Target:
    given: list[Target] = []
    given += [ToEarliest()] if to_earliest else []
    given += [ToLatest()] if to_latest else []
    given += [ToCurrent()] if to_current else []
    given += [parse_datetime(to_datetime)] if to_datetime is not None else []
    given += [parse_duration(by_duration, now_ms=time.time_ns() // 1_000_000)] if by_duration is not None else []
    given += [ShiftBy(shift_by)] if shift_by is not None else []
    given += [ToOffset(to_offset)] if to_offset is not None else []
    given += [parse_plan(_lines(from_file), group, str(from_file))] if from_file is not None else []
    if len(given) != 1:
        raise Refused(
            "Choose the target with exactly one of --to-earliest, --to-latest, --to-current, --to-datetime, --by-duration, --shift-by, "
            "--to-offset and --from-file."
        )
    return given[0]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise Refused(f"{path} is not text.") from error


def _scope(target: Target, topics: list[str], all_topics: bool) -> dict[str, set[int]] | None:
    """The topics that are named, or None for all partitions with a committed offset. A file names
    its own topics."""
    if isinstance(target, ToPlanned):
        if topics or all_topics:
            raise Refused("--from-file names the topics, so --topic and --all-topics cannot be given with it.")
        return None
    if bool(topics) == all_topics:
        raise Refused("Choose the topics with --topic or --all-topics.")
    return parse_partitions(topics) if topics else None


def _plan(admin: Admin, target: Target, named: dict[str, set[int]] | None, committed: Mapping[Partition, int]) -> Plan:
    if isinstance(target, ToPlanned):
        partitions = list(target.offsets)
    elif named is None:
        # An offset may have outlived its topic; it needs no reset then.
        partitions = led_partitions(admin, committed.keys())
    else:
        partitions = existing_partitions(admin, named)
    ends = log_ends(admin, partitions)
    at_time = offsets_at(admin, list(ends), target.timestamp_ms) if isinstance(target, ToTime) else {}
    return plan_reset(target, partitions, Known(ends, committed, at_time))


def _print_plan(group: str, plan: Plan, committed: Mapping[Partition, int], *, execute: bool, export: bool, as_json: bool) -> None:
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
    typer.echo(f"\nReset group {group}." if execute else "\nNothing was changed; --execute commits these offsets.")
