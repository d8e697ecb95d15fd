"""One command of ``barnabas`` as Markdown: its help, its usage, its arguments and options.

The text comes from the command itself, in the words that ``--help`` shows, so that the reference
cannot differ from the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

# Typer changes the origin of its click between releases, so this module uses the methods of
# commands and parameters, not their types.
Command = Any
Context = Any

_HELP: Final = "--help"
# "What it does.  [default: 9092; x>=0]", as typer writes it at the end of a help text.
_NOTES: Final = re.compile(r"^(.*?)\s*\[((?:default|env var|required|[-\d.]*<?=?x[<>]).*)\]$", re.DOTALL)
# These would begin markup in a table. Backquotes stay: help texts use them for commands.
_MARKUP: Final = re.compile(r"([|*_<>\[\]])")


def page(command: Command, name: str) -> str:
    """``command`` with all commands below it, each under its own heading."""
    root = command.context_class(command, info_name=f"barnabas {name}")
    return "\n".join(_section(command, root, level=1))


def summary(command: Command) -> str:
    """The first sentences of the help, for a list of commands."""
    return _prose((command.help or "").partition("\n\n")[0])


def _section(command: Command, context: Context, level: int) -> Iterator[str]:
    yield f"{'#' * level} {context.command_path}\n"
    yield from (f"{_prose(paragraph)}\n" for paragraph in (command.help or "").split("\n\n"))
    below = getattr(command, "commands", {})
    if below:
        yield from (f"- [{name}](#{_anchor(context, name)}): {summary(each)}" for name, each in below.items())
        yield ""
    else:
        yield f"```\n{command.get_usage(context).removeprefix('Usage: ')}\n```\n"
    yield from _parameters(command, context)
    for name, each in below.items():
        yield from _section(each, each.context_class(each, info_name=name, parent=context), level + 1)


def _anchor(context: Context, name: str) -> str:
    return f"{context.command_path} {name}".replace(" ", "-")


def _parameters(command: Command, context: Context) -> Iterator[str]:
    records = (each.get_help_record(context) for each in command.get_params(context))
    # A hidden parameter has no record, and --help is the same everywhere.
    rows = [_row(*record) for record in records if record is not None and record[0] != _HELP]
    if rows:
        yield "| argument or option | meaning | notes |"
        yield "| --- | --- | --- |"
        yield from rows
        yield ""


def _row(declaration: str, help_text: str) -> str:
    found = _NOTES.match(help_text)
    meaning, notes = found.groups() if found else (help_text, "")
    return f"| `{declaration.replace('|', chr(92) + '|')}` | {_prose(meaning)} | {_prose(notes)} |"


def _prose(text: str) -> str:
    """One line. Code keeps its characters; elsewhere those of markup are escaped."""
    pieces = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(piece if piece.startswith("`") else _MARKUP.sub(r"\\\1", piece) for piece in pieces)
