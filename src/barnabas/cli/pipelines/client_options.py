"""The options by which the commands of pipelines name a file of client settings.

A pipeline names its cluster itself, so these commands do not have the other options of a cluster.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.cluster.options import Secure as Secure
from barnabas.cli.cluster.reach import secure_file

ClientFile = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        "--config-file",
        metavar="FILE",
        help="Properties for Kafka's clients, before those in the pipelines; with Java's or librdkafka's names.",
    ),
]


def client_file(given: Path | None, secure: bool) -> str | None:
    """The path for :func:`~barnabas.pipelines.declaration.read.read_pipeline`."""
    file = secure_file(given) if secure else given
    return None if file is None else str(file)
