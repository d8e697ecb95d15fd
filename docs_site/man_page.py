"""One command of ``barnabas`` as a manual page, in the macros of ``man(7)``.

As in :mod:`docs_site.command_text`, the text comes from the command itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from barnabas import __version__

# As in command_text: the origin of click's types changes between releases of typer.
Command = Any
Context = Any

_EXIT_STATUS: Final = (
    "0 on success; 1 on an error, which is one sentence on standard error; 2 when a command is missing. "
    "`barnabas --debug COMMAND` shows where an error came from."
)
_HELP: Final = "--help"


def overview(app: Command, commands: Mapping[str, Command]) -> str:
    """``barnabas(1)``: the list of the commands, each of which has a page of its own."""
    root = app.context_class(app, info_name="barnabas")
    lines = [*_head("barnabas", _sentence(app)), ".SH SYNOPSIS", ".B barnabas", r"[\fIOPTIONS\fR] \fICOMMAND\fR [\fIARGUMENTS\fR]"]
    lines += [".SH DESCRIPTION", *_paragraphs(app)]
    lines += [_text("`barnabas COMMAND --help` prints the text of a command's page."), ".SH COMMANDS"]
    for name, command in commands.items():
        lines += [".TP", rf"\fBbarnabas\-{_text(name)}\fR(1)", _text(_sentence(command))]
    lines += [".SH OPTIONS", *_parameters(app, root)]
    lines += [".SH EXIT STATUS", _text(_EXIT_STATUS)]
    return "\n".join(lines) + "\n"


def page(command: Command, name: str) -> str:
    """``barnabas-NAME(1)``: the command, with all commands below it."""
    context = command.context_class(command, info_name=f"barnabas {name}")
    lines = [*_head(f"barnabas-{name}", _sentence(command)), ".SH SYNOPSIS", *_synopsis(command, context)]
    lines += [".SH DESCRIPTION", *_paragraphs(command)]
    below = getattr(command, "commands", {})
    if below:
        lines.append(".SH COMMANDS")
        for inner, each in below.items():
            lines += _subsection(each, each.context_class(each, info_name=inner, parent=context))
    else:
        lines += [".SH OPTIONS", *_parameters(command, context)]
    lines += [".SH EXIT STATUS", _text(_EXIT_STATUS), ".SH SEE ALSO", r"\fBbarnabas\fR(1)"]
    return "\n".join(lines) + "\n"


def _head(title: str, summary: str) -> Iterator[str]:
    # Without a date: the version says which program the page describes, and a build of the same
    # version is always the same.
    yield f'.TH {_text(title.upper())} 1 "" "Barnabas {__version__}" "Barnabas Manual"'
    yield ".SH NAME"
    yield rf"{_text(title)} \- {_text(summary.rstrip('.'))}"


def _synopsis(command: Command, context: Context) -> list[str]:
    usages = [usage for line in _usages(command, context) for usage in (".br", *line)]
    return usages[1:]


def _usages(command: Command, context: Context) -> Iterator[tuple[str, str]]:
    below = getattr(command, "commands", {})
    if not below:
        path = context.command_path
        yield f".B {_text(path)}", _text(command.get_usage(context).removeprefix(f"Usage: {path}"))
    for inner, each in below.items():
        yield from _usages(each, each.context_class(each, info_name=inner, parent=context))


def _subsection(command: Command, context: Context) -> Iterator[str]:
    yield f'.SS "{_text(context.command_path)}"'
    yield from _paragraphs(command)
    yield from _parameters(command, context)
    for name, each in getattr(command, "commands", {}).items():
        yield from _subsection(each, each.context_class(each, info_name=name, parent=context))


def _paragraphs(command: Command) -> Iterator[str]:
    for number, paragraph in enumerate((command.help or "").split("\n\n")):
        if number:
            yield ".PP"
        yield _text(paragraph)


def _parameters(command: Command, context: Context) -> Iterator[str]:
    records = (each.get_help_record(context) for each in command.get_params(context))
    for declaration, help_text in (record for record in records if record is not None):
        if _HELP in declaration and not getattr(command, "commands", {}):
            # Every command has it, so it is on the page of barnabas alone.
            continue
        yield ".TP"
        yield rf"\fB{_text(declaration)}\fR"
        yield _text(help_text) or r"\&"


def _sentence(command: Command) -> str:
    """The first sentence of the help, for lists of pages."""
    first = " ".join((command.help or "").partition("\n\n")[0].split())
    return re.split(r"(?<=[.;])\s", first, maxsplit=1)[0].rstrip(";")


def _text(text: str) -> str:
    """One line of roff. Code is bold; characters that roff would interpret are escaped."""
    line = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-")
    line = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", line)
    return rf"\&{line}" if line.startswith((".", "'")) else line
