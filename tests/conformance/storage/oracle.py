"""Kafka's own log in a Java process; see ``LogOracle.java`` for the language."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from barnabas.model.buffers import Buffer
from peers.apache_kafka import java_program


class LogOracle:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.questions, self.answers = process.stdin, process.stdout

    def ask(self, do: str, **details: Any) -> dict[str, Any]:
        self.questions.write(json.dumps({"do": do, **details}).encode() + b"\n")
        self.questions.flush()
        line = self.answers.readline()
        assert line.endswith(b"\n"), "the oracle died; its last words are on stderr"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def open(
        self,
        directory: Path,
        config: dict[str, Any],
        *,
        clean: bool = True,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        now_ms: int,
    ) -> None:
        self.ask(
            "open",
            directory=str(directory),
            config={name: str(value) for name, value in config.items()},
            clean=clean,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            now_ms=now_ms,
        )

    def append(self, batch: Buffer, *, epoch: int = 0, now_ms: int, origin: str = "CLIENT") -> dict[str, Any]:
        return self.ask("append", batch=bytes(batch).hex(), epoch=epoch, origin=origin, now_ms=now_ms)

    def dump(self, *arguments: str | Path) -> str:
        text: str = self.ask("dump", arguments=[str(each) for each in arguments])["text"]
        return text


@contextmanager
def log_oracle() -> Iterator[LogOracle]:
    program = Path(__file__).with_name("LogOracle.java")
    with subprocess.Popen(java_program(program), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield LogOracle(process)
        assert process.stdin is not None
        process.stdin.close()
