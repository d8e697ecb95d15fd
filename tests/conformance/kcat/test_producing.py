"""The same input through ``kcat -P`` and ``barnabas produce`` becomes the same records."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.cli.running import Cli
from tests.conformance.kcat.conftest import Kcat

# Everything but the topic and the timestamp.
RECORD = "%p %o %K %S %k %s %h\\x01"


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ((), b"one\ntwo\nlast"),
        (("-K", ":"), b"a:1\nb:2:3\n:empty key\nc:\n"),
        (("-K", "\\t", "-Z"), b"a\t1\nb\t\n"),
        (("-k", "fixed"), b"1\n2\n"),
        (("-k", "fixed", "-K", "="), b"own=1\n"),
        (("-H", "a=1", "-H", "b=2", "-H", "a=3=4"), b"x\n"),
        (("-D", ";"), b"a;b\nc;d"),
        (("-D", "--"), b"a--b-c--"),
        (("-c", "2"), b"1\n2\n3\n"),
        (("-z", "gzip"), b"packed\n" * 50),
        (("-p", "0"), b"x\n"),
    ],
)
def test_the_same_options_send_the_same_records(kcat: Kcat, cli: Cli, words: tuple[str, ...], lines: bytes) -> None:
    ours, theirs = (f"{side}-{time.time_ns()}" for side in ("ours", "theirs"))
    cli("topics", "create", ours).worked()
    cli("topics", "create", theirs).worked()
    cli("produce", ours, *words, stdin=lines).worked()
    kcat("-P", "-t", theirs, *words, stdin=lines)
    assert _records(cli, ours) == _records(cli, theirs)


def test_an_empty_line_is_a_record_although_kcat_drops_it(kcat: Kcat, cli: Cli) -> None:
    for topic in ("our-lines", "their-lines"):
        cli("topics", "create", topic).worked()
    cli("produce", "our-lines", stdin=b"a\n\nb\n").worked()
    kcat("-P", "-t", "their-lines", stdin=b"a\n\nb\n")
    assert cli("consume", "our-lines", "-o", ":").text == "a\n\nb\n"
    assert cli("consume", "their-lines", "-o", ":").text == "a\nb\n"


def test_whole_files_are_one_record_each(kcat: Kcat, cli: Cli, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"a\nb\n")
    second.write_bytes(bytes(range(256)))
    for topic in ("our-files", "their-files"):
        cli("topics", "create", topic).worked()
    cli("produce", "our-files", "--whole-files", "-l", first, "-l", second).worked()
    kcat("-P", "-t", "their-files", first, second)
    assert _records(cli, "our-files") == _records(cli, "their-files")


def test_a_transaction_of_kcat_and_of_ours_look_the_same(kcat: Kcat, cli: Cli, tmp_path: Path) -> None:
    settings = tmp_path / "client.properties"
    settings.write_text("transactional.id=ours\n")
    for topic in ("our-transaction", "their-transaction"):
        cli("topics", "create", topic).worked()
    cli("produce", "our-transaction", "--config-file", settings, stdin=b"a\nb\n").worked()
    kcat("-P", "-t", "their-transaction", "-X", "transactional.id=theirs", stdin=b"a\nb\n")
    assert _records(cli, "our-transaction") == _records(cli, "their-transaction")


def _records(cli: Cli, topic: str) -> bytes:
    return cli("consume", topic, "--from-beginning", "--until-end", "-f", RECORD).worked().out
