"""Who is told of progress: a table on a terminal, else lines of JSON on stdout; and the progress topic."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from barnabas.pipelines.running.progress import Progress

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration
    from barnabas.pipelines.running.runner import Observer


@contextmanager
def watching(pipelines: Sequence[PipelineDeclaration]) -> Iterator[list[Observer]]:
    yield [_print_line]


def _print_line(progress: Progress) -> None:
    sys.stdout.write(progress.as_json() + "\n")
    sys.stdout.flush()
