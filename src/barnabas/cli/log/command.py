"""``barnabas log``: print, summarise and verify the files of a node, running or not."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.log.dump.entries import Damage
from barnabas.cli.log.dump.kinds import DumpableFile, recognise
from barnabas.cli.log.dump.named_records import Vocabulary
from barnabas.cli.log.dump.read_only_disk import ReadOnlyDisk
from barnabas.cli.log.dump.rendering import json_line, text_line
from barnabas.cli.log.dump.segments import Depth
from barnabas.cli.log.info import info
from barnabas.cli.log.verify.command import verify
from barnabas.cli.terminal.output import progress
from barnabas.env.disk import disk_sentence

_ENTRIES_BETWEEN_PROGRESS = 500


def register(app: typer.Typer) -> None:
    log = typer.Typer(help="Print and verify the files of a node.", no_args_is_help=True)
    log.command("dump")(dump)
    log.command("verify")(verify)
    log.command("info")(info)
    app.add_typer(log, name="log")


def dump(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE|DIR...", help="Files, or directories with files of a node.")],
    records: Annotated[bool, typer.Option("--records", help="Also print the records inside the batches.")] = False,
    deep: Annotated[bool, typer.Option("--deep", help="Check every checksum and record, and indexes against their logs.")] = False,
    vocabulary: Annotated[
        Vocabulary, typer.Option("--as", help="The schema of the records; default: chosen by the directory's name.")
    ] = Vocabulary.AUTO,
    raw: Annotated[bool, typer.Option("--raw", help="Print the records as bytes, without decoding them.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per entry.")] = False,
) -> None:
    """Decode the files of a node without changing them. A damaged file is shown up to the damage;
    the exit code is then 1."""
    if raw and vocabulary.gives_meaning:
        raise Refused(f"--raw prints bytes and --as {vocabulary.value} decodes them; give one of them.")
    depth = Depth(records=records or raw, check=deep, vocabulary=Vocabulary.NONE if raw else vocabulary)
    files = list(_files(paths, depth))
    sizes = [_size_bytes(file.path) for file in files]
    complaints = []
    done = 0
    with _reading(sum(sizes)) as show:
        for file, size_bytes in zip(files, sizes, strict=True):
            complaint = _dump_file(file, as_json, lambda position, before=done: show(before + position))  # type: ignore[misc]
            if complaint is not None:
                complaints.append(complaint)
            done += size_bytes
    sys.stdout.flush()
    for complaint in complaints:
        typer.echo(f"barnabas: {complaint}", err=True)
    if complaints:
        raise typer.Exit(1)


def _dump_file(file: DumpableFile, as_json: bool, show: Callable[[float], None]) -> str | None:
    """Print a file. Returns a sentence about its damage, if there is any. ``show`` is called with
    the position, now and then."""
    try:
        if not as_json:
            sys.stdout.write(f"{file.path} ({file.kind}, {os.stat(file.path).st_size} bytes)\n")
        for number, entry in enumerate(file.entries()):
            if number % _ENTRIES_BETWEEN_PROGRESS == 0:
                show(entry.fields.get("position", 0))
            # Not typer.echo, which checks for a terminal and flushes for every line, and there may
            # be millions.
            sys.stdout.write((json_line(file.path, entry) if as_json else text_line(entry)) + "\n")
    except Damage as damage:
        return f"{file.path} is damaged at {damage.where}: {damage.why.rstrip('.')}."
    except FileNotFoundError:
        # A node may remove or rename files while we read; even a file that the user named may be
        # gone by now.
        return None
    except OSError as error:
        if error.filename is None:
            raise  # of the output: errors of reading name their file
        return f"{file.path} cannot be read: {error.strerror}."
    return None


def _reading(total_bytes: int) -> AbstractContextManager[Callable[[float], None]]:
    """A progress bar, unless the lines go to a terminal, where the bar would stand between them."""
    return nullcontext(lambda _: None) if sys.stdout.isatty() else progress("Reading", total_bytes)


def _size_bytes(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0  # removed since, or unreadable; reading it reports that


def _files(paths: list[Path], depth: Depth) -> Iterator[DumpableFile]:
    """Raises ``Refused`` for a path that does not exist or a file that no node writes. Inside a
    directory such files are skipped."""
    disk = ReadOnlyDisk()
    for path in paths:
        if path.is_dir():
            for directory, subdirectories, names in os.walk(path, onerror=_refuse):
                subdirectories.sort()
                found = (recognise(disk, os.path.join(directory, name), depth) for name in sorted(names))
                yield from (file for file in found if file is not None)
        elif not path.exists():
            raise Refused(f"{path}: no such file or directory.")
        else:
            file = recognise(disk, str(path), depth)
            if file is None:
                raise Refused(f"{path} does not have the name of a file that a node writes.")
            yield file


def _refuse(error: OSError) -> None:
    raise Refused(disk_sentence("cannot read a directory", error))
