"""``barnabas``: the entry point.

Only the command that is called is imported, so that a broker does not load the tables and clients
of the tools, and a short command answers at once. The help of ``barnabas`` itself has one line for
each command from :mod:`~.summaries`, and ``--version`` imports nothing at all. Errors are one
sentence on stderr and exit code 1, never a traceback; ``--debug`` as the first argument shows the
traceback.
"""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from barnabas import __version__

if TYPE_CHECKING:
    import typer

# The module of each command, below this package. It has a ``register(app)``. The order is that of
# the help.
COMMANDS = {
    "up": "up",
    "server": "server",
    "storage": "storage",
    "topics": "topics.command",
    "configs": "configs.command",
    "produce": "produce.command",
    "consume": "consume.command",
    "groups": "groups.command",
    "share-groups": "share_groups.command",
    "streams-groups": "streams_groups.command",
    "transactions": "transactions.command",
    "acls": "acls.command",
    "quotas": "quotas.command",
    "users": "users.command",
    "tokens": "tokens.command",
    "client-metrics": "client_metrics.command",
    "brokers": "brokers",
    "quorum": "quorum.command",
    "reassign": "reassign.command",
    "perf": "perf.command",
    "log": "log.command",
    "doctor": "doctor.command",
    "simulate": "simulate",
    "mirror": "mirror.command",
    "sql": "sql.command",
    "pipelines": "pipelines.command",
    "registry": "registry.command",
    "schemas": "schemas.command",
    "console": "console.command",
    "profile": "profiles.command",
    "certs": "certs.command",
}

_FULL = (errno.ENOSPC, errno.EDQUOT)


def main() -> None:
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        sys.stdout.write(f"{__version__}\n")
        sys.exit(0)
    debug = arguments[:1] == ["--debug"]
    if debug:
        arguments = arguments[1:]
    sys.exit(_run(arguments, debug))


def _run(arguments: list[str], debug: bool) -> int:
    from typer.main import get_command

    from barnabas.cli.errors import Refused
    from barnabas.cli.plain_values import use_plain_values

    # All that is loaded here stays until the process ends. To look for garbage among it again and
    # again takes a seventh of the time of a start.
    gc.disable()
    command = get_command(build_app(_called(arguments)))
    use_plain_values(command)
    gc.freeze()
    gc.enable()
    try:
        code = command.main(arguments, prog_name="barnabas", standalone_mode=False)
    except (Refused, _usage_error()) as refused:
        if debug:
            raise
        return _complain(refused)
    except OSError as error:
        # An error without a file name comes from standard output when that is a file on a full
        # disk.
        if debug or error.filename is not None or error.errno not in _FULL:
            raise
        _discard_output()
        return _complain(Refused(f"The output cannot be written: {error.strerror}."))
    return code if isinstance(code, int) else 0


def _called(arguments: list[str]) -> str:
    """The command that is to run, or the one whose words a shell wants to complete. Empty when
    there is none."""
    if "_BARNABAS_COMPLETE" in os.environ:
        # bash sets the first of these, other shells the second.
        arguments = (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or "").split()[1:]
    return arguments[0] if arguments else ""


def build_app(command: str | None) -> typer.Typer:
    """The app with one command, and the name and summary of each other one; without ``command``,
    with all of them."""
    import typer

    from barnabas.cli.summaries import SUMMARIES

    app = typer.Typer(
        name="barnabas",
        help="Apache Kafka, rebuilt in Python.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        # rich would draw boxes around the help, and takes longer to load than most commands to run.
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(invoke_without_command=True)
    def barnabas(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
        if version:
            typer.echo(__version__)
            raise typer.Exit

    for name in COMMANDS:
        if command is None or name == command or name not in SUMMARIES:
            import_module(f"barnabas.cli.{COMMANDS[name]}").register(app)
        else:
            app.command(name, help=SUMMARIES[name])(_other_command)
    _prepare(app)
    return app


def _other_command() -> None:
    raise AssertionError("only the command that is called runs, and that one is imported")


def _prepare(app: typer.Typer) -> None:
    """Add the options that all commands with a cluster share, and join the lines of each paragraph
    of help: it comes from docstrings, which are wrapped for readers of the code."""
    from inspect import cleandoc, signature

    for command in app.registered_commands:
        if command.callback is None or command.callback is _other_command:
            continue
        if command.help is None and command.callback.__doc__:
            command.help = re.sub(r"(?<!\n)\n(?!\n)", " ", cleandoc(command.callback.__doc__))
        # A node has no cluster to reach, and must not load what reaches one.
        if "bootstrap" in signature(command.callback).parameters:
            from barnabas.cli.cluster.options import with_cluster_options

            command.callback = with_cluster_options(command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            group.typer_instance.rich_markup_mode = None
            _prepare(group.typer_instance)


def _usage_error() -> type[Exception]:
    """The base class of all errors that typer finds in a command line. It is reached through a
    subclass, because older releases of typer take it from click and newer ones have a click of
    their own."""
    import typer

    return typer.BadParameter.__mro__[1]


def _discard_output() -> None:
    """The rest of the buffer cannot be written either, and Python would report that again when it
    exits."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _complain(refused: Exception) -> int:
    import typer

    if type(refused).__name__ == "NoArgsIsHelpError":
        # A group without a command shows its help.
        typer.echo(refused.ctx.get_help())  # type: ignore[attr-defined]
        return 2
    message = refused.format_message() if isinstance(refused, _usage_error()) else str(refused)  # type: ignore[attr-defined]
    typer.echo(f"barnabas: {message}{'' if message.endswith(('.', '!', '?')) else '.'}", err=True)
    return 1
