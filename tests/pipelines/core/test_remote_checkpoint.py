"""Checkpoints in an object store, as clusters have them: an S3 server on loopback, through Hadoop's
s3a.

The file system and Amazon's SDK are half a gigabyte of jars, so this is a soak test, and runs only
where the jars exist already: ``BARNABAS_TEST_S3A_JARS`` names them, separated by commas.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Cli
from tests.pipelines.core.running import write
from tests.pipelines.topics import Topics
from tests.waiting import LONG_PATIENCE_SECONDS

JARS = os.environ.get("BARNABAS_TEST_S3A_JARS")
pytestmark = [pytest.mark.soak, pytest.mark.skipif(JARS is None, reason="BARNABAS_TEST_S3A_JARS names no jars of Hadoop's s3a")]
FILE = """\
name: remembered
bootstrap: {bootstrap}
checkpoint: s3a://bucket/checkpoints
spark:
  spark.jars: "{jars}"
  spark.hadoop.fs.s3a.endpoint: {endpoint}
  spark.hadoop.fs.s3a.endpoint.region: us-east-1
  spark.hadoop.fs.s3a.path.style.access: true
  spark.hadoop.fs.s3a.connection.ssl.enabled: false
  spark.hadoop.fs.s3a.optimized.copy.from.local.enabled: false  # its way of sending needs more of HTTP than the S3 of this test has
  spark.hadoop.fs.s3a.access.key: somebody
  spark.hadoop.fs.s3a.secret.key: something
sources:
  numbers: {{topic: {numbers}}}
steps:
  - {{view: counted, sql: "SELECT n % 2 AS odd, count(*) AS found FROM numbers GROUP BY 1"}}
sinks:
  out: {{from: counted, topic: {out}, key: odd, mode: update, guarantee: exactly_once}}
"""


@pytest.fixture
def endpoint() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    connection = http.client.HTTPConnection(host, port)
    connection.request("PUT", "/bucket")
    assert connection.getresponse().status == 200
    connection.close()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.mark.timeout(1200)
def test_a_pipeline_continues_from_a_checkpoint_in_a_bucket(tmp_path: Path, topics: Topics, endpoint: str) -> None:
    numbers, out = topics.create("numbers"), topics.create("out")
    text = FILE.format(bootstrap=topics.bootstrap, jars=JARS, endpoint=endpoint, numbers=numbers, out=out)
    file = write(tmp_path, text)
    for first in (0, 10):
        topics.send(numbers, [{"n": n} for n in range(first, first + 10)])
        command = [sys.executable, "-m", "barnabas", "pipelines", "run", str(file), "--available-now"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LONG_PATIENCE_SECONDS)
        assert done.returncode == 0, (done.stderr, (tmp_path / ".barnabas/spark.log").read_text()[-5000:])
        assert sum(json.loads(line)["input_rows"] for line in done.stdout.splitlines()) == 10, "only what is new"
    assert [each.json for each in topics.read(out)][-2:] == [{"odd": 0, "found": 10}, {"odd": 1, "found": 10}]
    (status,) = Cli()("pipelines", "status", str(file), "--json").json
    assert (status["state"], status["reason"]) == ("ended", None)
