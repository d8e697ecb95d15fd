"""``barnabas pipelines``: check pipelines, run them on Spark, and show their status."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.pipelines.redrive import redrive
from barnabas.cli.terminal.output import AsJson, print_json, print_table
from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration

Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Pipelines: YAML files, or Python files with a Pipeline.")]
Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="Where Spark runs: local[*], spark://host:7077, ...; default: this machine."),
]
Checkpoint = Annotated[
    str | None, typer.Option("--checkpoint", metavar="DIR", help="Directory for the checkpoint, in place of the one in the files.")
]


def register(app: typer.Typer) -> None:
    pipelines = typer.Typer(help="Check data pipelines, run them on Spark, and show their status.", no_args_is_help=True)
    pipelines.command("validate")(validate)
    pipelines.command("run")(run)
    pipelines.command("explain")(explain)
    pipelines.command("list")(list_pipelines)
    pipelines.command("status")(status)
    pipelines.command("packages")(packages)
    pipelines.command("submit-script")(submit_script)
    pipelines.command("redrive")(redrive)
    pipelines.command("accept-schema")(accept_schema)
    app.add_typer(pipelines, name="pipelines")


def validate(files: Files) -> None:
    """Check files without running them; needs no Spark. Reports every invalid file."""
    from barnabas.pipelines.declaration.read import read_pipeline

    invalid = 0
    for path in files:
        try:
            pipeline = read_pipeline(path)
        except PipelineError as error:
            invalid += 1
            typer.echo(f"barnabas: {error}", err=True)
        else:
            counts = ((len(pipeline.sources), "source"), (len(pipeline.steps), "step"), (len(pipeline.sinks), "sink"))
            typer.echo(
                f"{path}: pipeline {pipeline.name!r} is valid: "
                + ", ".join(f"{count} {noun}{'s' * (count != 1)}" for count, noun in counts)
                + "."
            )
    if invalid:
        raise typer.Exit(1)


def run(
    files: Files,
    master: Master = None,
    available_now: Annotated[bool, typer.Option("--available-now", help="Process the data available now, then end.")] = False,
    checkpoint: Checkpoint = None,
) -> None:
    """Run pipelines until they are stopped; with --available-now, until they have processed all
    available data.

    Ctrl-C and SIGTERM stop them: exit code 0.
    """
    with refusals():
        from barnabas.pipelines.running.job import run_files

        run_files(files, master=master, available_now=available_now, checkpoint=checkpoint)


def explain(files: Files, master: Master = None) -> None:
    """Show the columns of every source and step, and Spark's plan for every sink. Nothing runs."""
    with refusals():
        from barnabas.pipelines.running.explain import explain as explain_pipelines

        explain_pipelines(read_all(files), master=master, write=typer.echo)


def list_pipelines(files: Files, as_json: AsJson = False) -> None:
    """List the pipelines in files: their sources, steps and sinks."""
    with refusals():
        read = read_all(files)
    rows = [
        {
            "name": each.name,
            "file": each.path,
            "sources": [source.name for source in each.sources],
            "steps": [step.view for step in each.steps],
            "sinks": [sink.name for sink in each.sinks],
            "bootstrap": each.bootstrap,
            "checkpoint": each.checkpoint,
        }
        for each in read
    ]
    if as_json:
        print_json(rows)
        return
    columns = ("name", "file", "sources", "steps", "sinks")
    texts = [[", ".join(row[each]) if isinstance(row[each], list) else row[each] for each in columns] for row in rows]
    print_table(("Pipeline", "File", "Sources", "Steps", "Sinks"), texts)


def status(files: Files, checkpoint: Checkpoint = None, as_json: AsJson = False) -> None:
    """Show the state of pipelines (starting, running, ended, failed, died) and their progress.
    Needs no Spark."""
    with refusals():
        from barnabas.pipelines.running.status import status_of

        found = [each for pipeline in read_all(files) for each in status_of(pipeline, checkpoint)]
    if as_json:
        print_json([asdict(each) for each in found])
        return
    print_table(
        ("Pipeline", "Query", "State", "Batch", "Lag", "Rows/s", "Last report"),
        [(each.pipeline, each.query, each.state, each.batch, each.lag, each.rows_per_second, each.at) for each in found],
    )
    # A process that died or failed gives its reason once, not for each of its queries.
    for reason in dict.fromkeys(each.reason for each in found if each.reason is not None):
        typer.echo(reason)


def accept_schema(files: Files, checkpoint: Checkpoint = None, master: Master = None) -> None:
    """Accept the current columns of the sources, after a pipeline stopped because they changed, and
    show the changes.

    Stop the pipeline first; it continues from its checkpoint when it is run again."""
    with refusals():
        from barnabas.pipelines.schema_changes.acceptance import accept_declared

        for line in accept_declared(read_all(files), checkpoint=checkpoint, master=master):
            typer.echo(line)


def packages(files: Files) -> None:
    """Print the Maven packages that the pipelines need, in the form of spark-submit: --packages
    $(barnabas pipelines packages FILE)."""
    with refusals():
        from barnabas.pipelines.packages import packages_of

        typer.echo(",".join(packages_of(read_all(files))))


def submit_script() -> None:
    """Print the path of the script for spark-submit, which takes the arguments of `run`:
    spark-submit $(barnabas pipelines submit-script) FILE."""
    from barnabas.pipelines.submit import run_pipelines

    typer.echo(run_pipelines.__file__)


def read_all(files: list[str]) -> list[PipelineDeclaration]:
    from barnabas.pipelines.declaration.read import read_pipeline

    return [read_pipeline(path) for path in files]


@contextmanager
def refusals() -> Iterator[None]:
    try:
        yield
    except PipelineError as error:
        raise Refused(str(error)) from error
