"""Tests of the process: exit codes, pipes, signals, terminals, and the modules it loads."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import pytest

from barnabas.cli.main import COMMANDS, build_app
from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from tests.cli.running import Cli
from tests.waiting import PATIENCE_SECONDS


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nonsense",), "No such command 'nonsense'."),
        (("topics", "nonsense"), "No such command 'nonsense'."),
        (("topics", "create"), "Missing argument 'TOPIC'."),
        (("topics", "list", "--nonsense"), "No such option: --nonsense."),
        (("topics", "alter", "t"), "Missing option '--partitions'."),
        (("produce", "t", "--acks", "2"), "Invalid value for '--acks'"),
        (("log", "dump"), "Missing argument 'FILE|DIR...'."),
        (("server", "--log-level", "LOUD"), "--log-level must be one of"),
        (("up", "--brokers", "0"), "--brokers"),
        (("storage", "format"), "Missing option '--cluster-id'"),
    ],
)
def test_an_invalid_command_line_is_one_sentence(words: tuple[str, ...], sentence: str) -> None:
    assert sentence in Cli()(*words).complaint


def test_every_command_has_help() -> None:
    for command in COMMANDS:
        done = Cli()(command, "--help")
        assert done.code == 0
        assert b"Usage: barnabas " in done.out


def test_help_keeps_paragraphs_and_drops_the_line_breaks_of_docstrings() -> None:
    (mirror,) = [each for each in build_app("mirror").registered_commands if each.name == "mirror"]
    assert mirror.help is not None
    assert [line.strip() != "" for line in mirror.help.split("\n")] == [True, False, True]


def test_a_group_without_a_command_shows_its_help() -> None:
    done = Cli()("topics")
    assert done.code == 2
    assert b"create" in done.out
    assert done.err == ""


def test_a_server_does_not_load_the_tools() -> None:
    """typer loads rich only to show help; a server never loads librdkafka and our tools."""
    program = (
        "import sys; from barnabas.cli.main import build_app; build_app('server');"
        "tools = ('confluent_kafka', 'barnabas.cli.cluster.client', 'barnabas.cli.terminal.output', 'rich.table');"
        "print([each for each in tools if each in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_process_ends_with_the_sentence_and_code_1() -> None:
    process = Cli("127.0.0.1:1").process("topics", "list")
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (1, b"")
    assert err == b"barnabas: No broker can be reached at 127.0.0.1:1 (connection refused).\n"


def test_a_reader_that_closes_the_pipe_causes_no_error(cli: Cli) -> None:
    cli("topics", "create", "many").worked()
    cli("produce", "many", stdin=b"0123456789" * 20 + b"\n" + b"line\n" * 20_000).worked()
    process = cli.process("consume", "many", "--from-beginning", "--timeout", PATIENCE_SECONDS)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"0123456789" * 20 + b"\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait(PATIENCE_SECONDS)


def test_ctrl_c_ends_a_consumer_quietly_after_all_read_records_are_printed(cli: Cli) -> None:
    cli("topics", "create", "t").worked()
    cli("produce", "t", stdin=b"one\ntwo\n").worked()
    process = cli.process("consume", "t", "--from-beginning")
    assert process.stdout is not None
    assert [process.stdout.readline(), process.stdout.readline()] == [b"one\n", b"two\n"]
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out, err) == (0, b"", b"")


def test_typed_lines_are_sent_one_by_one(cli: Cli) -> None:
    cli("topics", "create", "t").worked()
    consumer = cli.process("consume", "t", "--from-beginning")
    producer = cli.process("produce", "t", stdin=subprocess.PIPE)
    assert producer.stdin is not None
    assert consumer.stdout is not None
    for line in (b"first\n", b"second\n"):
        producer.stdin.write(line)
        producer.stdin.flush()
        assert consumer.stdout.readline() == line
    out, err = producer.communicate(timeout=PATIENCE_SECONDS)
    assert (producer.returncode, out, err) == (0, b"Produced 2 records to t.\n", b"")
    consumer.send_signal(signal.SIGINT)
    consumer.communicate(timeout=PATIENCE_SECONDS)


def test_progress_is_shown_only_on_terminals(cli: Cli) -> None:
    cli("topics", "create", "t").worked()
    piped = cli.process("perf", "latency", "t", "--records", "50", "--json")
    assert piped.communicate(timeout=PATIENCE_SECONDS)[1] == b""
    seen = _on_a_terminal(cli, "perf", "latency", "t", "--records", "300", "--json")
    assert b"Round trips" in seen
    assert b"300" in seen


def test_a_long_dump_into_a_file_shows_its_progress(tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(b"".join(bytes(build_batch([Record(offset, 0, None, b"x")], base_offset=offset)) for offset in range(3000)))
    with (tmp_path / "dumped").open("wb") as target:
        seen = _on_a_terminal(Cli(), "log", "dump", str(log), stdout=target)
    assert b"Reading" in seen
    assert (tmp_path / "dumped").read_bytes().count(b"batch position=") == 3000


def test_a_table_has_lines_on_a_terminal_and_none_in_a_pipe(cli: Cli) -> None:
    cli("topics", "create", "t").worked()
    assert "─" in _on_a_terminal(cli, "topics", "list").decode()
    assert "─" not in cli("topics", "list").text


def _on_a_terminal(cli: Cli, *words: str, stdout: BinaryIO | None = None) -> bytes:
    """The output of a command on a terminal, on both of its streams or, with ``stdout``, on
    stderr."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "barnabas", *words],
        stdout=stdout or theirs,
        stderr=theirs,
        env={**os.environ, **cli.environment, "TERM": "xterm"},
    )
    os.close(theirs)
    seen = b""
    # Reading from a terminal fails after its last user has closed it; no other process uses this
    # one.
    with suppress(OSError):
        while part := os.read(ours, 65536):
            seen += part
    os.close(ours)
    assert process.wait(PATIENCE_SECONDS) == 0, seen
    return seen
