"""``barnabas pipelines redrive``, on letters that were written without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from barnabas.cli.errors import Refused
from barnabas.cli.main import build_app
from tests.pipelines.topics import Topics

PIPELINE = """
name: careful
bootstrap: {bootstrap}
sources:
  payments: {{topic: {payments}, schema: amount INT, dead_letters: {{topic: {bad}}}}}
sinks:
  out: {{from: payments, console: {{}}}}
"""


@pytest.fixture
def file(topics: Topics, tmp_path: Path) -> str:
    payments, bad = topics.create("payments"), topics.create("bad")
    letters = ((b"a", b"no JSON", payments), (b"b", b"there is no value", payments), (b"c", b"a line", None))
    for number, (key, reason, topic) in enumerate(letters):
        position = {"partition": b"0", "offset": str(number).encode()}
        told = {"reason": reason, **position, **({"topic": topic.encode()} if topic else {})}
        topics.send_record(bad, key, b"{}", {f"barnabas.dead_letter.{name}": value for name, value in told.items()})
    path = tmp_path / "careful.yaml"
    path.write_text(PIPELINE.format(bootstrap=topics.bootstrap, payments=payments, bad=bad))
    return str(path)


def redrive(*arguments: str) -> str:
    done = CliRunner().invoke(build_app("pipelines"), ["pipelines", "redrive", *arguments], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_selected_letters_are_sent_again(topics: Topics, file: str) -> None:
    payments, bad = topics.name("payments"), topics.name("bad")
    assert json.loads(redrive(file, "--dry-run", "--reason", "JSON", "--json")) == {
        bad: {"sent": {payments: 1}, "left": 2, "repeats": 0, "reasons": {"no JSON": 1}}
    }
    assert redrive(file, "--reason", "JSON").endswith("1 letter sent again, 2 left.\n")
    assert [each.key for each in topics.read(payments)] == [b"a"]
    assert redrive(file).endswith("1 letter sent again, 1 left.\n"), "the line of a file has no topic to go back to"
    assert redrive(file).endswith("0 letters sent again, 1 left.\n")
    assert [each.key for each in topics.read(payments)] == [b"a", b"b"]
    position = {"topic": payments.encode(), "partition": b"0", "offset": b"1"}
    topics.send_record(bad, b"b", b"{}", {f"barnabas.dead_letter.{name}": value for name, value in position.items()})
    assert redrive(file).endswith("0 letters sent again, 1 left, 1 dropped as repeats.\n")


def test_impossible_redrives_are_refused_with_a_sentence(file: str) -> None:
    with pytest.raises(Refused, match=r"No source 'others' of .* has dead letters."):
        redrive(file, "--source", "others")
    with pytest.raises(Refused, match="--reason is a regular expression"):
        redrive(file, "--reason", "(")


def test_an_unreachable_cluster_is_reported(topics: Topics, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.pipelines.running.preflight.ANSWER_SECONDS_MAX", 2.0)
    path = Path(file)
    path.write_text(path.read_text().replace(topics.bootstrap, "127.0.0.1:1"))
    with pytest.raises(Refused, match=r"No broker answers at 127\.0\.0\.1:1 within 2 seconds"):
        redrive(file)
