"""``barnabas pipelines redrive``: send the dead letters of a pipeline's sources to their topics
again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.pipelines.client_options import ClientFile, Secure, client_file
from barnabas.cli.terminal.output import AsJson, print_json, print_table
from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from barnabas.pipelines.redrive import Redriven

_PLURAL = {True: "letter", False: "letters"}


def redrive(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The pipeline that wrote the dead letters.")],
    source: Annotated[str | None, typer.Option("--source", metavar="NAME", help="Only letters of this source.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", metavar="REGEX", help="Only letters with a reason that matches.")] = None,
    topic: Annotated[str | None, typer.Option("--topic", metavar="TOPIC", help="Only letters from this topic.")] = None,
    attempts_max: Annotated[
        int | None, typer.Option("--attempts-max", min=1, help="Skip letters that were already sent again this many times.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be sent.")] = False,
    json: AsJson = False,
    command_config: ClientFile = None,
    secure: Secure = False,
) -> None:
    """Send dead letters to their original topics again, after their cause has been fixed.

    Each source record is sent once, even if its letter was written several times.
    """
    from barnabas.pipelines.declaration.read import read_pipeline
    from barnabas.pipelines.redrive import Selection, redrive as send_again
    from barnabas.pipelines.redriven_positions import POSITIONS_MAX
    from barnabas.pipelines.running.preflight import ClusterTopics

    try:
        pattern = None if reason is None else re.compile(reason)
    except re.error as error:
        raise Refused(f"--reason is a regular expression, but {reason!r} is not: {error}.") from error
    reports: dict[str, Redriven] = {}
    try:
        pipeline = read_pipeline(file, client_file=client_file(command_config, secure))
        decodings = [each.decoding for each in pipeline.sources if each.decoding is not None and source in (None, each.name)]
        letters = list(dict.fromkeys(each.dead_letters.topic for each in decodings if each.dead_letters is not None))
        if not letters:
            which = "No source" if source is None else f"No source {source!r}"
            raise Refused(f"{which} of {file} has dead letters.")
        # Connect first: a cluster that is down, or refuses the credentials, fails here at once,
        # while a transactional producer would only time out.
        with ClusterTopics(pipeline) as cluster:
            cluster.names()
        selection = Selection(pattern, topic, attempts_max)
        for name in letters:
            reports[name] = send_again(pipeline.bootstrap, name, kafka=pipeline.kafka, selection=selection, dry_run=dry_run)
    except PipelineError as error:
        raise Refused(str(error)) from error
    if json:
        print_json({name: _as_json(each) for name, each in reports.items()})
        return
    rows = [(name, to, count) for name, each in reports.items() for to, count in sorted(each.sent.items())]
    if rows:
        print_table(("dead letters", "to", "would be sent" if dry_run else "sent"), rows)
    sent, left, repeats = (
        sum(counts) for counts in zip(*((each.total, each.left, each.repeats) for each in reports.values()), strict=True)
    )
    dropped = f", {repeats} {'would be ' * dry_run}dropped as repeats" if repeats else ""
    typer.echo(f"{sent} {_PLURAL[sent == 1]} {'would be sent' if dry_run else 'sent'} again, {left} left{dropped}.")
    if forgotten := sum(each.forgotten for each in reports.values()):
        typer.echo(f"barnabas: forgot {forgotten} older positions (the limit is {POSITIONS_MAX}); repeats of those are sent.", err=True)


def _as_json(report: Redriven) -> dict[str, object]:
    return {"sent": dict(report.sent), "left": report.left, "repeats": report.repeats, "reasons": dict(report.reasons)}
