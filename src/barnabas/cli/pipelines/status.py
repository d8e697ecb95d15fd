"""``barnabas pipelines status``: a table that fits 80 columns on a terminal, with whole names in a
pipe.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.pipelines.client_options import ClientFile, Secure, client_file
from barnabas.cli.terminal.output import AsJson, print_json, print_table
from barnabas.pipelines.display_text import age, amount, to_the_second
from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from barnabas.pipelines.running.status import QueryStatus

_HEADINGS = ("Query", "State", "Batch", "Lag\nrecords", "Rows/s", "Last\nreport")


def status(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Pipelines: YAML files, or Python files with a Pipeline.")],
    checkpoint: Annotated[
        str | None, typer.Option("--checkpoint", metavar="DIR", help="Directory of the checkpoint, in place of the one in the files.")
    ] = None,
    as_json: AsJson = False,
    command_config: ClientFile = None,
    secure: Secure = False,
) -> None:
    """Show the state of pipelines (starting, running, ended, failed, died) and their progress.
    Needs no Spark."""
    from barnabas.pipelines.declaration.read import read_pipeline
    from barnabas.pipelines.running.status import status_of

    try:
        file = client_file(command_config, secure)
        found = [each for path in files for each in status_of(read_pipeline(path, client_file=file), checkpoint)]
    except PipelineError as error:
        raise Refused(str(error)) from error
    if as_json:
        print_json([asdict(each) for each in found])
        return
    reasons = dict.fromkeys(each.reason for each in found if each.reason is not None)
    if sys.stdout.isatty():
        _show(found, list(reasons))
        return
    print_table(
        ("Pipeline", "Query", "State", "Batch", "Lag", "Rows/s", "Last report"),
        [
            (each.pipeline, each.query, each.state, each.batch, each.lag, each.rows_per_second, each.at and to_the_second(each.at))
            for each in found
        ],
    )
    # A process that died or failed gives its reason once, not for each of its queries.
    for reason in reasons:
        typer.echo(reason)


def _show(found: Sequence[QueryStatus], reasons: Sequence[str]) -> None:
    from rich.console import Console
    from rich.text import Text

    from barnabas.pipelines.fitted_table import fitted_table

    console, now = Console(file=sys.stdout, highlight=False), datetime.now(UTC)
    rows = [
        (
            f"{each.pipeline}.{each.query}",
            each.state,
            "-" if each.batch is None else str(each.batch),
            "-" if each.lag is None else amount(each.lag),
            "-" if each.rows_per_second is None else amount(each.rows_per_second),
            age(at, now) if (at := each.at or each.alive_at) else "-",
        )
        for each in found
    ]
    console.print(fitted_table(_HEADINGS, rows, console.width, texts=2))
    for reason in reasons:
        console.print(Text(reason))
