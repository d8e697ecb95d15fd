"""``barnabas log verify``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.log.dump.read_only_disk import ReadOnlyDisk
from barnabas.cli.log.verify.directory_scrub import checkpointed_offsets, read_checkpoints, scrub_log_directory
from barnabas.cli.log.verify.findings import Scrub, Severity
from barnabas.cli.log.verify.partition_scrub import NOTHING_CHECKPOINTED, scrub_partition
from barnabas.cli.log.verify.targets import LogDirectoryFound, PartitionDirectory, find_logs
from barnabas.cli.terminal.output import AsJson, print_json, progress
from barnabas.env.disk import Disk, disk_sentence
from barnabas.storage.file_names import LOG_SUFFIX


def verify(
    paths: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Directories of partitions, log directories, or their parents.")],
    deep: Annotated[bool, typer.Option("--deep", help="Also decode every record.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read all files of a node and report what is damaged and where. The exit code is 1 if anything
    is.

    Works on the directory of a running node, and on one that Apache Kafka wrote. Nothing is
    changed: a node rebuilds derived files at its next start."""
    disk = ReadOnlyDisk()
    found = list(dict.fromkeys(each for path in paths for each in find_logs(disk, str(path))))
    with progress("Reading", sum(_log_bytes(each.path) for each in found)) as show:
        scrub = Scrub(deep=deep, progress=show)
        for each in found:
            _scrub(scrub, disk, each)
    if as_json:
        print_json(_document(scrub))
    else:
        for finding in scrub.findings:
            typer.echo(finding.text)
        typer.echo(_summary(scrub))
    if wrong := len(scrub.wrong):
        typer.echo(f"barnabas: {wrong} {'thing is' if wrong == 1 else 'things are'} wrong.", err=True)
        raise typer.Exit(1)


def _scrub(scrub: Scrub, disk: Disk, found: PartitionDirectory | LogDirectoryFound) -> None:
    try:
        if isinstance(found, LogDirectoryFound):
            scrub_log_directory(scrub, disk, found.path)
            return
        parent = os.path.dirname(os.path.abspath(found.path))
        partition = found.partition
        # Use the checkpoints of the log directory that holds the partition; other problems of that
        # directory were not asked for.
        checkpointed = (
            checkpointed_offsets(parent, read_checkpoints(Scrub(), disk, parent), partition)
            if partition is not None
            else NOTHING_CHECKPOINTED
        )
        scrub_partition(scrub, disk, found.path, partition, checkpointed)
    except FileNotFoundError:
        return  # removed meanwhile
    except OSError as error:
        raise Refused(disk_sentence(f"cannot read {found.path}", error)) from error


def _document(scrub: Scrub) -> dict[str, object]:
    return {
        "directories": scrub.directories,
        "partitions": scrub.partitions,
        "segments": scrub.segments,
        "batches": scrub.batches,
        "bytes": scrub.bytes_read,
        "wrong": len(scrub.wrong),
        "findings": [each.fields for each in scrub.findings],
    }


def _summary(scrub: Scrub) -> str:
    seen = f"{scrub.partitions} partitions, {scrub.segments} segments, {scrub.batches} batches, {scrub.bytes_read} bytes"
    notes = sum(each.severity is Severity.NOTE for each in scrub.findings)
    return f"{seen}: {len(scrub.wrong) or 'nothing'} wrong{f', {notes} noted' if notes else ''}."


def _log_bytes(directory: str) -> int:
    """About the number of bytes that a scrub reads."""
    total = 0
    for parent, _, names in os.walk(directory):
        for name in names:
            if name.endswith(LOG_SUFFIX):
                try:
                    total += os.stat(os.path.join(parent, name)).st_size
                except OSError:
                    continue
    return total
