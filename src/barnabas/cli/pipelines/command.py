"""``barnabas pipelines``: check pipelines, run them on Spark, and show their status."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.pipelines.client_options import ClientFile, Secure, client_file
from barnabas.cli.pipelines.redrive import redrive
from barnabas.cli.pipelines.status import status
from barnabas.cli.pipelines.validate import validate
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


def run(
    files: Files,
    master: Master = None,
    available_now: Annotated[bool, typer.Option("--available-now", help="Process the data available now, then end.")] = False,
    checkpoint: Checkpoint = None,
    metrics_port: Annotated[
        int | None,
        typer.Option("--metrics-port", min=0, max=65_535, help="Port for Prometheus to scrape; 0 for a free one; default: none."),
    ] = None,
    metrics_host: Annotated[str, typer.Option("--metrics-host", metavar="HOST", help="Address for --metrics-port.")] = "127.0.0.1",
    command_config: ClientFile = None,
    secure: Secure = False,
) -> None:
    """Run pipelines until they are stopped; with --available-now, until they have processed all
    available data.

    Ctrl-C and SIGTERM stop them: exit code 0.
    """
    with refusals():
        from barnabas.pipelines.declaration.pipeline_declaration import MetricsAddress
        from barnabas.pipelines.running.job import run_files

        file = client_file(command_config, secure)
        metrics = None if metrics_port is None else MetricsAddress(metrics_port, metrics_host)
        run_files(files, master=master, available_now=available_now, checkpoint=checkpoint, metrics=metrics, client_file=file)


def explain(files: Files, master: Master = None, command_config: ClientFile = None, secure: Secure = False) -> None:
    """Show the columns of every source and step, and Spark's plan for every sink. Nothing runs."""
    with refusals():
        from barnabas.pipelines.running.explain import explain as explain_pipelines

        explain_pipelines(read_all(files, client_file(command_config, secure)), master=master, write=typer.echo)


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


def accept_schema(
    files: Files, checkpoint: Checkpoint = None, master: Master = None, command_config: ClientFile = None, secure: Secure = False
) -> None:
    """Accept the current columns of the sources, after a pipeline stopped because they changed, and
    show the changes.

    Stop the pipeline first; it continues from its checkpoint when it is run again."""
    with refusals():
        from barnabas.pipelines.schema_changes.acceptance import accept_declared

        pipelines = read_all(files, client_file(command_config, secure))
        for line in accept_declared(pipelines, checkpoint=checkpoint, master=master):
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


def read_all(files: list[str], client_file: str | None = None) -> list[PipelineDeclaration]:
    from barnabas.pipelines.declaration.read import read_pipeline

    return [read_pipeline(path, client_file=client_file) for path in files]


@contextmanager
def refusals() -> Iterator[None]:
    try:
        yield
    except PipelineError as error:
        raise Refused(str(error)) from error
