"""The manual pages: ``python -m docs_site.man_pages DIRECTORY`` writes one for each command.

`make man` calls it. The pages are not committed, for the reason that :mod:`docs_site.command_pages`
gives. `make wheel` puts them into the wheel, whose installation copies them to ``share/man/man1``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from typer.main import get_command

from barnabas.cli.main import COMMANDS, build_app
from docs_site import man_page


def pages() -> dict[str, str]:
    """Manual pages by file name."""
    app = get_command(build_app(None))
    commands = {name: app.commands[name] for name in COMMANDS}  # type: ignore[attr-defined]
    return {
        "barnabas.1": man_page.overview(app, commands),
        **{f"barnabas-{name}.1": man_page.page(command, name) for name, command in commands.items()},
    }


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (directory / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
