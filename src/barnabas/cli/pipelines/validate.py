"""``barnabas pipelines validate``: every mistake of every file, in the form that editors and CI
parse.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.pipelines.client_options import ClientFile, Secure, client_file
from barnabas.cli.terminal.output import AsJson, print_json
from barnabas.pipelines.errors import DeclarationError, PipelineError

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration

_YAML = (".yaml", ".yml")


@dataclass(slots=True)
class CheckedFile:
    path: str
    pipeline: PipelineDeclaration | None = None
    mistakes: list[DeclarationError] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        pipeline = self.pipeline
        return {
            "file": self.path,
            "valid": not self.mistakes,
            "pipeline": None if pipeline is None else pipeline.name,
            "sources": [] if pipeline is None else [each.name for each in pipeline.sources],
            "steps": [] if pipeline is None else [each.view for each in pipeline.steps],
            "sinks": [] if pipeline is None else [each.name for each in pipeline.sinks],
            "mistakes": [
                {"file": each.path, "line": each.line, "column": each.column, "field": each.field, "message": each.sentence}
                for each in self.mistakes
            ],
            "unchecked": self.unchecked,
        }


def validate(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE|FOLDER...", help="YAML files, Python files with a Pipeline, or folders with YAML files."),
    ],
    deep: Annotated[
        bool, typer.Option("--deep", help="Also check SQL, columns, types, keys and Python functions, with Spark; writes nothing.")
    ] = False,
    as_json: AsJson = False,
    command_config: ClientFile = None,
    secure: Secure = False,
) -> None:
    """Check files without running them, and report every mistake with its line.

    Exit code 1 means that a file is invalid.
    """
    checked = [_checked(path, client_file(command_config, secure)) for path in _files(files)]
    valid = [each for each in checked if each.pipeline is not None]
    if deep and valid:
        _check_deeply(valid)
    if as_json:
        print_json([each.as_json() for each in checked])
    else:
        for each in checked:
            _show(each)
        _summarise(checked)
    if any(each.mistakes for each in checked):
        raise typer.Exit(1)


def _files(given: Sequence[str]) -> list[str]:
    """Folders stand for the YAML files in and below them, in the order of their names."""
    found: list[str] = []
    for path in given:
        if not os.path.isdir(path):
            found.append(path)
            continue
        inside = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names if name.endswith(_YAML)]
        if not inside:
            raise Refused(f"The folder {path} has no YAML file.")
        found += sorted(inside)
    return list(dict.fromkeys(found))


def _checked(path: str, client_file: str | None) -> CheckedFile:
    from barnabas.pipelines.declaration.read import read_pipeline

    try:
        return CheckedFile(path, read_pipeline(path, client_file=client_file))
    except DeclarationError as error:
        return CheckedFile(path, mistakes=list(error.all))
    except PipelineError as error:
        return CheckedFile(path, mistakes=[DeclarationError(path, 1, str(error))])


def _check_deeply(files: Sequence[CheckedFile]) -> None:
    from barnabas.pipelines.running.deep_check import check_deeply
    from barnabas.pipelines.session import close_session, open_session

    pipelines = [each.pipeline for each in files if each.pipeline is not None]
    try:
        session = open_session(pipelines)
        try:
            results = check_deeply(pipelines, session)
        finally:
            close_session(session)
    except PipelineError as error:
        raise Refused(str(error)) from error
    for file, result in zip(files, results, strict=True):
        file.mistakes += result.mistakes
        file.unchecked += result.unchecked


def _show(file: CheckedFile) -> None:
    for each in file.mistakes:
        typer.echo(each.located, err=True)
    if file.unchecked:
        typer.echo(f"{file.path}: not checked, because of these mistakes: {', '.join(file.unchecked)}.", err=True)
    if file.pipeline is not None and not file.mistakes:
        pipeline = file.pipeline
        parts = ((len(pipeline.sources), "source"), (len(pipeline.steps), "step"), (len(pipeline.sinks), "sink"))
        counts = ", ".join(_counted(*each) for each in parts)
        typer.echo(f"{file.path}: pipeline {pipeline.name!r} is valid: {counts}.")


def _summarise(files: Sequence[CheckedFile]) -> None:
    invalid = [each for each in files if each.mistakes]
    if invalid:
        mistakes = _counted(sum(len(each.mistakes) for each in invalid), "mistake")
        are = "is" if len(invalid) == 1 else "are"
        typer.echo(f"barnabas: {len(invalid)} of {_counted(len(files), 'file')} {are} invalid: {mistakes}.", err=True)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
