"""The reference of the commands has every command, argument and option."""

from __future__ import annotations

from typer.main import get_command

from barnabas.cli.main import COMMANDS, build_app
from docs_site.command_pages import FOLDER, INDEX, pages


def test_every_command_has_a_page_and_a_line_in_the_index() -> None:
    made = pages()
    assert list(made) == [INDEX, *(f"{FOLDER}/{name}.md" for name in COMMANDS)]
    for name in COMMANDS:
        assert f"| [{name}]({name}.md) |" in made[INDEX]


def test_commands_below_a_command_have_a_heading_on_its_page() -> None:
    commands = get_command(build_app("topics")).commands  # type: ignore[attr-defined]
    page = pages()[f"{FOLDER}/topics.md"]
    assert len(commands["topics"].commands) > 3
    for name in commands["topics"].commands:
        assert f"\n## barnabas topics {name}\n" in page
        assert f"(#barnabas-topics-{name})" in page


def test_an_option_is_a_row_with_its_default_in_the_notes() -> None:
    page = pages()[f"{FOLDER}/up.md"]
    (row,) = (line for line in page.splitlines() if line.startswith("| `--host "))
    assert row.endswith("| default: 127.0.0.1 |")


def test_bars_in_an_option_do_not_split_its_row() -> None:
    rows = [line for line in pages()[f"{FOLDER}/produce.md"].splitlines() if line.startswith("| `--acks")]
    assert len(rows) == 1
    assert r"all\|1\|0" in rows[0]
    assert rows[0].replace(r"\|", "").count("|") == 4
