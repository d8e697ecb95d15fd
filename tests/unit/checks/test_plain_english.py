"""The check of our English: the phrases it names, the places where it reads, and its exit code."""

from pathlib import Path

import pytest

from checks.plain_english import check, main
from checks.tics import TICS

MODULE = Path("src/barnabas/module.py")


def tics(source: str, path: Path = MODULE) -> list[tuple[int, str]]:
    return [(finding.line, finding.tic) for finding in check(path, source)]


@pytest.mark.parametrize(
    ("sentence", "tic"),
    [
        ("Who shows an old epoch is fenced.", "free 'who'"),
        ("It is full. Who waits goes on.", "free 'who'"),
        ("What is gone is refused.", "free 'what'"),
        ("Two cases: what fits is kept; the rest goes.", "free 'what'"),
        ("Goes to whoever asks first.", "'whoever'"),
        ("Whatever was put off until now.", "free 'whatever'"),
        ("A bit that nobody can flip.", "'nobody'"),
        ("Where replicas shall go.", "'shall'"),
        ("The store is waited for.", "'is waited for'"),
        ("It is started, and not waited for.", "'is waited for'"),
        ("The member is told its epoch.", "'is told'"),
        ("Topics with wishes.", "'wish'"),
        ("The leader is in office.", "'in office'"),
        ("So long may a read take.", "'so long may'"),
        ("All is well.", "'is well'"),
        ("Else the file is read again.", "'else' at the start"),
    ],
)
def test_a_tic_is_named_with_its_line(sentence: str, tic: str) -> None:
    assert tics(f"x = 1\n# {sentence}\n") == [(2, tic)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Who leads the partition? The broker with the lowest id.",
        "What is a batch? Records with one header.",
        "What a partition remembers of its producers.",
        "The caller waited for the response for a second.",
        "A tenth is well below the limit, and the frame is well formed.",
        "The setting ``nobody`` and the word `shall` are code here.",
        "Elsewhere the marshal reads on.",
        "Name your key if you wish, separated by commas.",
    ],
)
def test_plain_sentences_pass(sentence: str) -> None:
    assert tics(f"# {sentence}\n") == []


def test_a_phrase_is_found_across_lines() -> None:
    assert tics("# The member is\n# told its epoch.\n") == [(1, "'is told'")]


def test_docstrings_and_test_names_are_read() -> None:
    source = '"""First.\n\nNobody asks.\n"""\n\n\ndef test_what_is_gone_is_refused() -> None: ...\n'
    assert tics(source) == [(3, "'nobody'"), (7, "free 'what'")]


def test_strings_are_read_outside_of_tests() -> None:
    source = 'message = f"There are {count} offsets that nobody has."\nname = "nobody"\n'
    assert tics(source) == [(1, "'nobody'")]
    assert tics(source, Path("tests/unit/test_module.py")) == []


def test_prose_over_100_columns_is_reported_and_long_code_is_not() -> None:
    long = "a word and " * 9 + "another"
    assert tics(f'# {long}\n"""{long}"""\nx = "{long}"\n')[:1] == [(1, "prose over 100 columns")]
    assert tics(f'"""{long}"""\n') == [(1, "prose over 100 columns")]
    assert tics(f'x = "{long}"\n') == []
    assert tics(f'x = "{long}"  # noqa: S101\n') == []


def test_markdown_is_read_without_its_code() -> None:
    page = "# What is measured\n\nText.\nNobody `shall` read.\n\n```\nnobody\n```\n| a | " + "b" * 160 + " |\n"
    assert tics(page, Path("docs/page.md")) == [(9, "table row over 160 columns"), (4, "'nobody'")]


def test_given_paths_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = tmp_path / "module.py"
    module.write_text("# Nobody asks.\n")
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith(f"{module}:1: 'nobody': ")
    module.write_text("# No client asks.\n")
    assert main([str(tmp_path)]) == 0


def test_no_tic_is_listed_twice() -> None:
    assert len({tic.name for tic in TICS}) == len(TICS)
