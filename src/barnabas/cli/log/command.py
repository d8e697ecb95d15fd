"""``barnabas log``: what is in the files of a node, whether it runs or not, and whether it is as it should be."""

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
    log = typer.Typer(help="Look into the files of a node.", no_args_is_help=True)
    log.command("dump")(dump)
    log.command("verify")(verify)
    log.command("info")(info)
    app.add_typer(log, name="log")


def dump(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE|DIR...", help="Files, or directories with all the files of a node in them.")],
    records: Annotated[bool, typer.Option("--records", help="Also the records inside the batches.")] = False,
    deep: Annotated[bool, typer.Option("--deep", help="Check every checksum and record, and indexes against their logs.")] = False,
    vocabulary: Annotated[
        Vocabulary, typer.Option("--as", help="What the records mean; the directory's name says it when this does not.")
    ] = Vocabulary.AUTO,
    raw: Annotated[bool, typer.Option("--raw", help="The records as bytes, whatever they mean.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per entry.")] = False,
) -> None:
    """Decode the files of a node, reading only. A damaged file is shown as far as it makes sense; the exit code is then 1."""
    if raw and vocabulary.gives_meaning:
        raise Refused(f"--raw shows bytes, and --as {vocabulary.value} what they mean; take one of them.")
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
    """Print a file; the sentence about its damage, if there is one. ``show`` is told the position reached, now and then."""
    try:
        if not as_json:
            sys.stdout.write(f"{file.path} ({file.kind}, {os.stat(file.path).st_size} bytes)\n")
        for number, entry in enumerate(file.entries()):
            if number % _ENTRIES_BETWEEN_PROGRESS == 0:
                show(entry.fields.get("position", 0))
            # Not typer.echo, which looks at the terminal and flushes for each of what may be millions of lines.
            sys.stdout.write((json_line(file.path, entry) if as_json else text_line(entry)) + "\n")
    except Damage as damage:
        return f"{file.path} is damaged at {damage.where}: {damage.why.rstrip('.')}."
    except FileNotFoundError:
        # Nodes remove and rename files while we look; one named by the user was there a moment ago, too.
        return None
    except OSError as error:
        if error.filename is None:
            raise  # of the output: what reads files names them
        return f"{file.path} cannot be read: {error.strerror}."
    return None


def _reading(total_bytes: int) -> AbstractContextManager[Callable[[float], None]]:
    """A bar, unless the lines go to a terminal: between them it would only be in the way."""
    return nullcontext(lambda _: None) if sys.stdout.isatty() else progress("Reading", total_bytes)


def _size_bytes(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0  # removed meanwhile, or unreadable, which reading it will say


def _files(paths: list[Path], depth: Depth) -> Iterator[DumpableFile]:
    """``Refused`` for a path that is not there or a file that no node writes; in a directory, those are passed over."""
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
                raise Refused(f"{path} is not a file that a node writes, by its name.")
            yield file


def _refuse(error: OSError) -> None:
    raise Refused(disk_sentence("cannot read a directory", error))
