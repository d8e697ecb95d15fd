"""Kafka's own tools, run inside one JVM; see ``ToolRunner.java``."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from peers.apache_kafka import java_program


class Ended(NamedTuple):
    status: int
    out: str
    err: str


class Tools:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._questions, self._answers = process.stdin, process.stdout

    def try_run(self, main: str, *arguments: str | Path, stdin: str | None = None) -> Ended:
        question = {"main": main, "arguments": [str(each) for each in arguments], "stdin": stdin}
        self._questions.write(json.dumps(question) + "\n")
        self._questions.flush()
        line = self._answers.readline()
        assert line, f"the JVM died running {main}"
        answer: dict[str, Any] = json.loads(line)
        return Ended(answer["status"], answer["out"], answer["err"])

    def run(self, main: str, *arguments: str | Path, stdin: str | None = None) -> str:
        """The output of a tool, which must succeed."""
        ended = self.try_run(main, *arguments, stdin=stdin)
        assert ended.status == 0, f"{main} exited {ended.status}\n{ended.out}\n{ended.err}"
        return ended.out


@contextmanager
def kafka_tools(properties: Mapping[str, str] | None = None) -> Iterator[Tools]:
    """``properties`` are system properties of the JVM."""
    program = Path(__file__).with_name("ToolRunner.java")
    options = [f"-D{name}={value}" for name, value in (properties or {}).items()]
    with subprocess.Popen(java_program(program, options=options), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Tools(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
