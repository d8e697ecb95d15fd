"""The observers of progress: a table on a terminal, otherwise lines of JSON on stdout; and the
progress topic.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.running.preflight import uses_topics
from barnabas.pipelines.running.progress import Progress
from barnabas.pipelines.running.progress_topic import ProgressTopic

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration
    from barnabas.pipelines.running.runner import Observer, Run


@contextmanager
def watching(pipelines: Sequence[PipelineDeclaration], run: Run) -> Iterator[list[Observer]]:
    """Also reports the end to the progress topic."""
    published = [ProgressTopic(pipeline) for pipeline in pipelines if uses_topics(pipeline)]
    reason: str | None = None
    with ExitStack() as shown:
        try:
            yield [*_shown(pipelines, shown), *published]
        except PipelineError as failed:
            reason = str(failed)
            raise
        finally:
            for topic in published:
                topic.ended({each.part: each.run_id for each in run.queries if each.pipeline == topic.pipeline}, reason)
                topic.close()


def _shown(pipelines: Sequence[PipelineDeclaration], until: ExitStack) -> list[Observer]:
    if not sys.stdout.isatty():
        return [_print_line]
    from barnabas.pipelines.running.live_table import LiveTable

    return [until.enter_context(LiveTable(pipelines))]


def _print_line(progress: Progress) -> None:
    sys.stdout.write(progress.as_json() + "\n")
    sys.stdout.flush()
