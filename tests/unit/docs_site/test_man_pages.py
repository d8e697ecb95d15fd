"""Every command, argument and option is on a manual page."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from barnabas.cli.main import COMMANDS, build_app
from docs_site.man_pages import pages

PAGES = pages()


def leaves(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", {})
    if not below:
        yield path, command
    for name, each in below.items():
        yield from leaves(each, f"{path} {name}")


def roff(text: str) -> str:
    return text.replace("-", r"\-")


def test_barnabas_and_each_command_have_a_page() -> None:
    assert list(PAGES) == ["barnabas.1", *(f"barnabas-{name}.1" for name in COMMANDS)]
    for name in COMMANDS:
        assert rf"\fB{roff(f'barnabas-{name}')}\fR(1)" in PAGES["barnabas.1"]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_of_a_command_has_its_options_and_those_of_the_commands_below(name: str) -> None:
    page = PAGES[f"barnabas-{name}.1"]
    command = get_command(build_app(name)).commands[name]  # type: ignore[attr-defined]
    for path, leaf in leaves(command, f"barnabas {name}"):
        assert f".B {roff(path)}\n" in page
        for parameter in leaf.params:
            shown = not getattr(parameter, "hidden", False)
            for option in parameter.opts if parameter.param_type_name == "option" and shown else ():
                assert roff(option) in page, (path, option)


def test_no_line_of_text_is_taken_for_a_macro() -> None:
    known = (".TH ", ".SH ", ".SS ", ".B ", ".TP", ".PP", ".br")
    for page in PAGES.values():
        assert all(line.startswith(known) for line in page.splitlines() if line.startswith((".", "'")))


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_formats_the_pages_without_a_warning() -> None:
    command = ["groff", "-man", "-Tutf8", "-ww", "-z"]
    for name, page in PAGES.items():
        run = subprocess.run(command, input=page, capture_output=True, text=True, check=True)
        assert run.stderr == "", name
