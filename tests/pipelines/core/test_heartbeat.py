"""Whether a run is alive, as `pipelines status` reports it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from barnabas.pipelines.declaration.read import read_pipeline
from barnabas.pipelines.display_text import to_the_second
from barnabas.pipelines.running.heartbeat import (
    SILENT_SECONDS_MAX,
    Heartbeat,
    heartbeats,
    is_there,
    liveness_of,
    newest_heartbeat,
    this_process,
)
from barnabas.pipelines.running.progress_topic import HeartbeatTopic, newest_reports
from barnabas.pipelines.running.status import status_of
from tests.pipelines.core.running import write
from tests.pipelines.topics import Topics

FILE = """\
name: watched
bootstrap: {bootstrap}
checkpoint: {checkpoint}
sources: {{numbers: {source}}}
sinks: {{out: {{from: numbers, console: {{}}}}}}
"""
# A run with nothing but a heartbeat: it prints each state after it has written it.
RUN = """
import sys
from barnabas.pipelines.declaration.read import read_pipeline
from barnabas.pipelines.running.heartbeat import heartbeats
with heartbeats([read_pipeline(sys.argv[1])], None) as heart:
    print("starting", flush=True)
    sys.stdin.readline()
    heart.running()
    print("running", flush=True)
    sys.stdin.readline()
"""


def pipeline_file(folder: Path) -> Path:
    return write(folder, FILE.format(bootstrap="none", checkpoint=folder / "checkpoints", source="{generator: {}}"))


def state(file: Path) -> str:
    (found,) = status_of(read_pipeline(str(file)))
    return found.state


def test_status_follows_a_run_from_its_start_to_its_end(tmp_path: Path) -> None:
    file = pipeline_file(tmp_path)
    assert state(file) == "never ran"
    with heartbeats([read_pipeline(str(file))], None) as heart:
        assert state(file) == "starting"
        heart.running()
        assert state(file) == "running"
    assert state(file) == "ended"
    with pytest.raises(ValueError, match="no luck"), heartbeats([read_pipeline(str(file))], None):
        raise ValueError("no luck")
    (found,) = status_of(read_pipeline(str(file)))
    assert (found.state, found.reason) == ("failed", "no luck")


@pytest.mark.parametrize("at_last", ["starting", "running"])
def test_status_reports_at_once_that_a_killed_run_died(tmp_path: Path, at_last: str) -> None:
    file = pipeline_file(tmp_path)
    command = [sys.executable, "-c", RUN, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        assert run.stdout.readline() == "starting\n"
        if at_last == "running":
            run.stdin.write("\n")
            assert run.stdout.readline() == "running\n"
        assert state(file) == at_last
        run.kill()
        os.waitid(os.P_PID, run.pid, os.WEXITED | os.WNOWAIT)
        (found,) = status_of(read_pipeline(str(file)))
        assert found.state == "died", "also while its parent has not asked how it ended"
        run.wait()
    (found,) = status_of(read_pipeline(str(file)))
    assert found.state == "died"
    assert found.reason is not None
    assert found.reason.startswith(f"Process {run.pid} on ")
    assert found.alive_at is not None
    assert f"its last heartbeat was at {to_the_second(found.alive_at)}" in found.reason


def test_another_process_with_the_same_pid_is_not_the_run() -> None:
    here = this_process()
    assert is_there(here)
    assert is_there(replace(here, started=here.started - 1)) is False
    assert is_there(replace(here, boot="another")) is None
    assert is_there(replace(here, namespace="another")) is None


def test_on_another_machine_only_missing_heartbeats_show_that_a_run_died() -> None:
    now = datetime.now(UTC)
    beat = Heartbeat("running", now.isoformat(), None, this_process())
    silent = timedelta(seconds=SILENT_SECONDS_MAX)
    assert liveness_of(beat, now + silent, is_there=None) == "running"
    assert liveness_of(beat, now + 2 * silent, is_there=None) == "died"
    assert liveness_of(beat, now + 2 * silent, is_there=True) == "running", "a clock that was set does not kill"
    assert liveness_of(replace(beat, state="ended"), now + 2 * silent, is_there=False) == "ended"


def test_heartbeats_of_a_run_with_a_remote_checkpoint_go_to_the_progress_topic(tmp_path: Path, topics: Topics) -> None:
    source = f"{{topic: {topics.create('numbers')}, format: text}}"
    text = FILE.format(bootstrap=topics.bootstrap, checkpoint="s3a://bucket/checkpoints", source=source)
    pipeline = read_pipeline(str(write(tmp_path, text.replace("watched", topics.name("watched")))))
    with heartbeats([pipeline], None) as heart:
        heart.running()
    reports = newest_reports(pipeline)
    assert HeartbeatTopic.key_of(pipeline.name) in reports
    beat = newest_heartbeat(pipeline, None, reports)
    assert beat is not None
    assert beat.state == "ended"
    (found,) = status_of(pipeline)
    assert found.state == "ended"


def test_a_missing_disk_does_not_stop_a_run(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("a file where the folder should be")
    with heartbeats([read_pipeline(str(pipeline_file(tmp_path)))], None) as heart:
        heart.running()
