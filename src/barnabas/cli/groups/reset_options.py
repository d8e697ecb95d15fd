"""The options of commands that reset offsets: the new offsets, and the partitions.

Groups of all kinds take the same options.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from barnabas.administration.offset_reset import ShiftBy, Target, ToCurrent, ToEarliest, ToLatest, ToOffset, ToPlanned
from barnabas.cli.errors import Refused
from barnabas.cli.groups.offsets import parse_partitions
from barnabas.cli.groups.reset_target import parse_datetime, parse_duration, parse_plan

AllTopicsOption = Annotated[bool, typer.Option("--all-topics", help="All partitions in which the group has an offset.")]
ToEarliestOption = Annotated[bool, typer.Option("--to-earliest", help="To the first record of each partition.")]
ToLatestOption = Annotated[bool, typer.Option("--to-latest", help="To the end of each partition.")]
ToCurrentOption = Annotated[bool, typer.Option("--to-current", help="To the offset that the group has.")]
ToDatetimeOption = Annotated[
    str | None, typer.Option("--to-datetime", metavar="ISO", help="To the first record at or after this time; UTC if it has no zone.")
]
ByDurationOption = Annotated[
    str | None, typer.Option("--by-duration", metavar="PnDTnHnMnS", help="To the first record that is not older than this.")
]
ShiftByOption = Annotated[int | None, typer.Option("--shift-by", metavar="N", help="This many records forward, or back if negative.")]
ToOffsetOption = Annotated[int | None, typer.Option("--to-offset", metavar="N", help="To this offset.")]
FromFileOption = Annotated[
    Path | None,
    typer.Option("--from-file", metavar="CSV", help="To the offsets in a file of topic,partition,offset lines, as --export prints them."),
]
ExecuteOption = Annotated[bool, typer.Option("--execute", help="Set the new offsets; without this nothing is changed.")]
ExportOption = Annotated[bool, typer.Option("--export", help="Print the new offsets as CSV.")]


def chosen_target(
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


def chosen_partitions(target: Target, topics: list[str], all_topics: bool) -> dict[str, set[int]] | None:
    """The topics that are named, or None for all partitions with an offset. A file names
    its own topics."""
    if isinstance(target, ToPlanned):
        if topics or all_topics:
            raise Refused("--from-file names the topics, so --topic and --all-topics cannot be given with it.")
        return None
    if bool(topics) == all_topics:
        raise Refused("Choose the topics with --topic or --all-topics.")
    return parse_partitions(topics) if topics else None
