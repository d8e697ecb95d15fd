"""``barnabas share-groups reset-offsets``: change the offsets from which a share group continues. A
dry run unless --execute is given.
"""

from __future__ import annotations

import typer

from barnabas.cli.cluster.broker_requests import Brokers
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import reach
from barnabas.cli.errors import Refused
from barnabas.cli.groups.offsets import Group, Topics
from barnabas.cli.groups.reset_options import (
    AllTopicsOption,
    ByDurationOption,
    ExecuteOption,
    ExportOption,
    FromFileOption,
    ShiftByOption,
    ToCurrentOption,
    ToDatetimeOption,
    ToEarliestOption,
    ToLatestOption,
    ToOffsetOption,
    chosen_partitions,
    chosen_target,
)
from barnabas.cli.groups.reset_plan import make_plan, print_plan
from barnabas.cli.share_groups.description import describe_share_group
from barnabas.cli.share_groups.offsets import alter_share_offsets, share_offsets, start_offsets
from barnabas.cli.terminal.output import AsJson


def reset_offsets(
    group: Group,
    topic: Topics = [],  # noqa: B006
    all_topics: AllTopicsOption = False,
    to_earliest: ToEarliestOption = False,
    to_latest: ToLatestOption = False,
    to_current: ToCurrentOption = False,
    to_datetime: ToDatetimeOption = None,
    by_duration: ByDurationOption = None,
    shift_by: ShiftByOption = None,
    to_offset: ToOffsetOption = None,
    from_file: FromFileOption = None,
    execute: ExecuteOption = False,
    export: ExportOption = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Show the new offsets of a share group without members; --execute sets them.

    All records from the new offset on are delivered again, also those that were acknowledged.
    """
    target = chosen_target(
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
    named = chosen_partitions(target, topic, all_topics)
    cluster = reach(bootstrap, config_file)
    brokers = Brokers(cluster)
    # The group need not exist: one use of this command is to set offsets before the first member
    # joins.
    described = describe_share_group(brokers, group)
    if described is not None and described.members:
        raise Refused(f"Offsets can only be reset while a share group has no members, but {group} has {len(described.members)}.")
    offsets = share_offsets(brokers, group)
    # A partition from which no member has fetched yet has no offset to keep or to shift.
    current = start_offsets(offsets)
    plan = make_plan(cluster.admin(), target, named, current)
    for remark in plan.remarks:
        typer.echo(f"barnabas: {remark}", err=True)
    if execute and plan.offsets:
        alter_share_offsets(brokers, group, plan.offsets)
    print_plan(group, plan, current, execute=execute, export=export, as_json=as_json)
