"""Syncs segments on a worker thread, so that the loop does not wait for the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor

from barnabas.storage.segment import Segment


def sync_in_background(executor: Executor, segments: Sequence[Segment]) -> asyncio.Future[None]:
    """Sync the segments of :meth:`~barnabas.storage.flushing.Flushing.begin`, in order."""
    return asyncio.get_running_loop().run_in_executor(executor, _sync_all, segments)


def _sync_all(segments: Sequence[Segment]) -> None:
    for segment in segments:
        segment.sync()
