"""The reference of the commands: a page for each, made from the commands when the site is built.

The pages are not committed. Only the site shows them, and a copy in the repository would be one
more text to update when an option changes.
"""

from __future__ import annotations

from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from typer.main import get_command

from barnabas.cli.main import COMMANDS, build_app
from docs_site import command_text

FOLDER: Final = "reference/commands"
INDEX: Final = f"{FOLDER}/index.md"
_INTRODUCTION: Final = """\
# Commands

`barnabas COMMAND --help` prints the same text on a terminal.
An error is one sentence on stderr, and the exit code is 1.
`barnabas --debug COMMAND` shows where the error came from.

| command | |
| --- | --- |
"""


def pages() -> dict[str, str]:
    """Markdown by the page's address in the site.

    The index comes first, then the commands in the order of ``barnabas --help``.
    """
    commands = get_command(build_app(None)).commands  # type: ignore[attr-defined]
    listed = "\n".join(f"| [{name}]({name}.md) | {command_text.summary(commands[name])} |" for name in COMMANDS)
    return {
        INDEX: f"{_INTRODUCTION}{listed}\n",
        **{f"{FOLDER}/{name}.md": command_text.page(commands[name], name) for name in COMMANDS},
    }


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Adds the pages to the navigation, behind the index that ``mkdocs.yml`` names."""
    section = _section_with_index(config.nav or [])
    assert section is not None, f"mkdocs.yml names {INDEX} in its navigation"
    section.extend({name: f"{FOLDER}/{name}.md"} for name in COMMANDS)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for address, text in pages().items():
        files.append(File.generated(config, address, content=text))
    return files


def _section_with_index(nav: list[Any]) -> list[Any] | None:
    if INDEX in nav:
        return nav
    inner = (children for item in nav if isinstance(item, dict) for children in item.values() if isinstance(children, list))
    return next((found for children in inner if (found := _section_with_index(children)) is not None), None)
