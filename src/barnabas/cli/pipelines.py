"""``barnabas pipelines``: check pipelines, run them on Spark, and see how they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.main import Refused
from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration

Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Pipelines: YAML, or Python with a Pipeline in it.")]
Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="Where Spark runs: local[*], spark://host:7077, ...; this machine when not given."),
]
Checkpoint = Annotated[
    str | None, typer.Option("--checkpoint", metavar="DIR", help="Where progress is kept, instead of where the files say.")
]


def register(app: typer.Typer) -> None:
    pipelines = typer.Typer(help="Check data pipelines, run them on Spark, and see how they are.", no_args_is_help=True)
    pipelines.command("validate")(validate)
    pipelines.command("run")(run)
    pipelines.command("packages")(packages)
    app.add_typer(pipelines, name="pipelines")


def validate(files: Files) -> None:
    """Check files without running them; needs no Spark. Every wrong file is told of."""
    from barnabas.pipelines.declaration.read import read_pipeline

    wrong = 0
    for path in files:
        try:
            pipeline = read_pipeline(path)
        except PipelineError as error:
            wrong += 1
            typer.echo(f"barnabas: {error}", err=True)
        else:
            counts = ((len(pipeline.sources), "source"), (len(pipeline.steps), "step"), (len(pipeline.sinks), "sink"))
            typer.echo(
                f"{path}: pipeline {pipeline.name!r} is well: "
                + ", ".join(f"{count} {noun}{'s' * (count != 1)}" for count, noun in counts)
                + "."
            )
    if wrong:
        raise typer.Exit(1)


def run(
    files: Files,
    master: Master = None,
    available_now: Annotated[bool, typer.Option("--available-now", help="Read what is there by now, then end.")] = False,
    checkpoint: Checkpoint = None,
) -> None:
    """Run pipelines until they are stopped, or with --available-now until all that is there is done."""
    with refusals():
        from barnabas.pipelines.running.job import run_files

        run_files(files, master=master, available_now=available_now, checkpoint=checkpoint)


def packages(files: Files) -> None:
    """Print the Maven packages the pipelines need, as spark-submit takes them: --packages $(barnabas pipelines packages FILE)."""
    with refusals():
        from barnabas.pipelines.packages import packages_of

        typer.echo(",".join(packages_of(read_all(files))))


def read_all(files: list[str]) -> list[PipelineDeclaration]:
    from barnabas.pipelines.declaration.read import read_pipeline

    return [read_pipeline(path) for path in files]


@contextmanager
def refusals() -> Iterator[None]:
    try:
        yield
    except PipelineError as error:
        raise Refused(str(error)) from error
