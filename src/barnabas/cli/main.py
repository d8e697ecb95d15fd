"""``barnabas``: the entry point.

Only the command that is called is imported, so that a broker does not load the tables and clients
of the tools. Errors are one sentence on stderr and exit code 1, never a traceback; ``--debug`` as
the first argument shows the traceback.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from importlib import import_module
from inspect import cleandoc

import typer

from barnabas import __version__
from barnabas.cli.errors import Refused

# The module of each command, below this package. It has a ``register(app)``. The order is that of
# the help.
COMMANDS = {
    "up": "up",
    "server": "server",
    "storage": "storage",
    "topics": "topics.command",
    "configs": "configs.command",
    "produce": "produce",
    "consume": "consume",
    "groups": "groups.command",
    "transactions": "transactions.command",
    "brokers": "brokers",
    "quorum": "quorum.command",
    "reassign": "reassign.command",
    "perf": "perf.command",
    "log": "log.command",
    "simulate": "simulate",
    "mirror": "mirror.command",
    "sql": "sql.command",
    "pipelines": "pipelines.command",
}

# The base class of all errors that typer finds in a command line. It is reached through a subclass,
# because older releases of typer take it from click and newer ones have a click of their own.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


_FULL = (errno.ENOSPC, errno.EDQUOT)


def main() -> None:
    arguments = sys.argv[1:]
    debug = arguments[:1] == ["--debug"]
    if debug:
        arguments = arguments[1:]
    app = build_app(arguments[0] if arguments else None)
    try:
        code = app(arguments, prog_name="barnabas", standalone_mode=False)
    except (Refused, _UsageError) as refused:
        if debug:
            raise
        sys.exit(_complain(refused))
    except OSError as error:
        # An error without a file name comes from standard output when that is a file on a full
        # disk.
        if debug or error.filename is not None or error.errno not in _FULL:
            raise
        _discard_output()
        sys.exit(_complain(Refused(f"The output cannot be written: {error.strerror}.")))
    sys.exit(code if isinstance(code, int) else 0)


def build_app(command: str | None) -> typer.Typer:
    app = typer.Typer(
        name="barnabas",
        help="Apache Kafka, rebuilt in Python.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(invoke_without_command=True)
    def barnabas(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
        if version:
            typer.echo(__version__)
            raise typer.Exit

    for name in [command] if command in COMMANDS else COMMANDS:
        import_module(f"barnabas.cli.{COMMANDS[name]}").register(app)
    _unwrap_help(app)
    return app


def _unwrap_help(app: typer.Typer) -> None:
    """Join the lines of each paragraph of help. It comes from docstrings, which are wrapped for
    readers of the code, and rich would keep their line breaks on terminals of any width."""
    for command in app.registered_commands:
        if command.help is None and command.callback is not None and command.callback.__doc__:
            command.help = re.sub(r"(?<!\n)\n(?!\n)", " ", cleandoc(command.callback.__doc__))
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _unwrap_help(group.typer_instance)


def _discard_output() -> None:
    """The rest of the buffer cannot be written either, and Python would report that again when it
    exits."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _complain(refused: Exception) -> int:
    message = refused.format_message() if isinstance(refused, _UsageError) else str(refused)  # type: ignore[attr-defined]
    if not message:
        # A group without a command: typer has shown the group's help.
        return 2
    typer.echo(f"barnabas: {message}{'' if message.endswith(('.', '!', '?')) else '.'}", err=True)
    return 1
