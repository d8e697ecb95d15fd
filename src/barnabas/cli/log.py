"""``barnabas log dump``: what is in the files of a node, whether it runs or not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.log_dump.entries import Damage
from barnabas.cli.log_dump.kinds import DumpableFile, recognise
from barnabas.cli.log_dump.named_records import Vocabulary
from barnabas.cli.log_dump.read_only_disk import ReadOnlyDisk
from barnabas.cli.log_dump.rendering import json_line, text_line
from barnabas.cli.log_dump.segments import Depth
from barnabas.cli.main import Refused


def register(app: typer.Typer) -> None:
    log = typer.Typer(help="Look into the files of a node.", no_args_is_help=True)
    log.command("dump")(dump)
    app.add_typer(log, name="log")


def dump(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE|DIR...", help="Files, or directories with all the files of a node in them.")],
    records: Annotated[bool, typer.Option("--records", help="Also the records inside the batches.")] = False,
    deep: Annotated[bool, typer.Option("--deep", help="Check every checksum and record, and indexes against their logs.")] = False,
    vocabulary: Annotated[
        Vocabulary, typer.Option("--as", help="What the records mean; the directory's name says it when this does not.")
    ] = Vocabulary.AUTO,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per entry.")] = False,
) -> None:
    """Decode the files of a node, reading only. A damaged file is shown as far as it makes sense; the exit code is then 1."""
    meaningful = vocabulary not in (Vocabulary.AUTO, Vocabulary.NONE)
    depth = Depth(records=records or meaningful, check=deep, vocabulary=vocabulary)
    complaints = [complaint for file in list(_files(paths, depth)) if (complaint := _dump_file(file, as_json)) is not None]
    for complaint in complaints:
        typer.echo(f"barnabas: {complaint}", err=True)
    if complaints:
        raise typer.Exit(1)


def _dump_file(file: DumpableFile, as_json: bool) -> str | None:
    """Print a file; the sentence about its damage, if there is one."""
    try:
        if not as_json:
            typer.echo(f"{file.path} ({file.kind}, {os.stat(file.path).st_size} bytes)")
        for entry in file.entries():
            typer.echo(json_line(file.path, entry) if as_json else text_line(entry))
    except Damage as damage:
        return f"{file.path} is damaged at {damage.where}: {damage.why.rstrip('.')}."
    except FileNotFoundError:
        # Nodes remove and rename files while we look; one named by the user was there a moment ago, too.
        return None
    except BrokenPipeError:
        raise
    except OSError as error:
        return f"{file.path} cannot be read: {error.strerror}."
    return None


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
    raise Refused(f"{error.filename}: {error.strerror}.")
