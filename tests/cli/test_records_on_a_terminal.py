from __future__ import annotations

import re
from pathlib import Path

from tests.cli.running import Cli
from tests.cli.terminal_session import on_a_terminal

ALL = ("--from-beginning", "--until-end")
CTRL_C, CTRL_D = b"\x03", b"\x04"


def test_json_is_indented_and_coloured(cli: Cli) -> None:
    cli("produce", "orders", "--value", '{"id": 7, "name": "Ada"}').worked()
    with on_a_terminal(cli, "consume", "orders", *ALL) as terminal:
        assert terminal.end() == (
            b'{\r\n  \x1b[34m"id"\x1b[0m: \x1b[36m7\x1b[0m,\r\n  \x1b[34m"name"\x1b[0m: \x1b[32m"Ada"\x1b[0m\r\n}\r\n'
        )
    with on_a_terminal(cli, "consume", "orders", *ALL, NO_COLOR="1") as terminal:
        assert terminal.end() == b'{\r\n  "id": 7,\r\n  "name": "Ada"\r\n}\r\n'


def test_no_control_sequence_of_a_record_reaches_the_terminal(cli: Cli, tmp_path: Path) -> None:
    attack = b"\x1b]0;title\x07\x1b[2J\xc2\x9b31m\r\x00\xff"
    file = tmp_path / "attack"
    file.write_bytes(attack)
    cli("produce", "orders", "--file", file, "--whole-files", "--header", f"h={attack[:8].decode()}").worked()
    for words in ((), ("--format", "%s %h\\n"), ("--json",)):
        with on_a_terminal(cli, "consume", "orders", *ALL, *words, NO_COLOR="1") as terminal:
            shown = terminal.end()
        assert not re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\r(?!\n)|\xff", shown), words
        assert shown
    with on_a_terminal(cli, "consume", "orders", *ALL, "--raw") as terminal:
        assert attack in terminal.end()


def test_typed_lines_are_sent_and_no_progress_is_drawn_over_them(cli: Cli) -> None:
    cli("topics", "create", "orders").worked()
    with on_a_terminal(cli, "produce", "orders") as terminal:
        terminal.read_until(b"Type one record a line, and end with Ctrl-D.\r\n")
        terminal.type(b"first\nsecond\n")
        terminal.read_until(b"second\r\n")
        terminal.type(CTRL_D)
        assert terminal.end() == (b"Type one record a line, and end with Ctrl-D.\r\nfirst\r\nsecond\r\nProduced 2 records to orders.\r\n")
    assert cli("consume", "orders", *ALL).text == "first\nsecond\n"


def test_progress_is_drawn_for_files(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"line\n" * 20_000)
    with on_a_terminal(cli, "produce", "orders", "--file", file) as terminal:
        shown = terminal.end()
    assert b"Producing" in shown
    assert b"100000/100000" in shown or b"Produced 20000 records" in shown
    assert shown.rstrip().endswith(b"Produced 20000 records to orders.")


def test_ctrl_c_ends_a_consumer_that_follows(cli: Cli) -> None:
    cli("produce", "orders", "--value", "a").worked()
    with on_a_terminal(cli, "consume", "orders", "--from-beginning", "--follow") as terminal:
        terminal.read_until(b"a\r\n")
        cli("produce", "orders", "--value", "b").worked()
        terminal.read_until(b"b\r\n")
        terminal.type(CTRL_C)
        assert b"Traceback" not in terminal.end()
    assert terminal.process.returncode == 0
