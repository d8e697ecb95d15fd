"""The shell: a prompt, statements over several lines, history, completion.

prompt_toolkit edits the lines. Without it the shell works with the interpreter's own line editing.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer
from confluent_kafka import KafkaException

from barnabas.cli.cluster.client import error_of, phrase
from barnabas.cli.errors import Refused
from barnabas.cli.sql.catalog import Catalog
from barnabas.cli.sql.completion import complete
from barnabas.cli.sql.rows import Format, RowPrinter
from barnabas.cli.sql.shell_commands import HELP, Kind, ShellCommand, command_of
from barnabas.cli.sql.sql_session import SqlSession
from barnabas.cli.sql.statements import is_blank, is_complete, split_statements
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sql.answering import EngineChoice

PROMPT = "barnabas> "
CONTINUED = "      ... "
_FORMATS = {"table": Format.TABLE, "json": Format.JSON, "csv": Format.CSV}

ReadStatement = Callable[[], str]
"""One input of the user: a command, or text with one statement or more. EOFError ends the shell;
KeyboardInterrupt drops the line."""


class Quit(Exception):
    pass


class Shell:
    """Runs statements and commands. ``failed``: whether one of them failed."""

    def __init__(self, session: SqlSession, output: Format) -> None:
        self._session = session
        self._format = output
        self.failed = False

    def run(self, text: str) -> None:
        """Errors are printed. Raises ``Quit``."""
        command = command_of(text)
        if command is not None:
            self._guarded(lambda: self._command(command))
            return
        statements, rest = split_statements(text)
        for each in [*statements, *([] if is_blank(rest) else [rest])]:
            spoken = command_of(each)
            self._guarded(lambda each=each, spoken=spoken: self._command(spoken) if spoken else self._query(each))  # type: ignore[misc]

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except (PipelineError, Refused) as error:
            self._complain(str(error))
        except KafkaException as error:
            self._complain(f"The cluster refuses: {phrase(error_of(error))}.")
        finally:
            sys.stdout.flush()

    def _complain(self, sentence: str) -> None:
        self.failed = True
        typer.echo(f"barnabas: {sentence}", err=True)

    def _query(self, statement: str) -> None:
        self._session.run(statement, RowPrinter(self._format))

    def _command(self, command: ShellCommand) -> None:
        match command.kind:
            case Kind.HELP:
                typer.echo(HELP)
            case Kind.QUIT:
                raise Quit
            case Kind.TOPICS:
                self._session.print_topics(RowPrinter(self._format))
            case Kind.DESCRIBE:
                self._query(f"DESCRIBE `{command.argument}`")
            case Kind.TIMING:
                self._session.verbose = {"on": True, "off": False}.get(command.argument.lower(), not self._session.verbose)
                typer.echo(f"Timing is {'on' if self._session.verbose else 'off'}.")
            case Kind.ENGINE:
                self._set_engine(command.argument.lower())
            case Kind.FORMAT:
                if command.argument.lower() not in _FORMATS:
                    raise Refused(r"\format takes table, json or csv.")
                self._format = _FORMATS[command.argument.lower()]
            case Kind.UNKNOWN:
                raise Refused(rf"There is no command '{command.argument}'; \? lists them.")

    def _set_engine(self, name: str) -> None:
        if name and name not in list(EngineChoice):
            raise Refused(r"\engine takes auto, embedded or spark.")
        if name:
            self._session.topic_sql.engine = EngineChoice(name)
        typer.echo(f"The engine is {self._session.topic_sql.engine}.")


def interact(session: SqlSession, output: Format) -> None:
    """Until the user ends it."""
    shell = Shell(session, output)
    catalog = Catalog(lambda: session.another(EngineChoice.EMBEDDED))
    read = _editor(catalog) if importlib.util.find_spec("prompt_toolkit") is not None else _plain_reader()
    typer.echo(r"Queries end with a semicolon; \? is help, \q or Ctrl-D ends.", err=True)
    try:
        while True:
            try:
                text = read()
            except KeyboardInterrupt:
                continue  # the line is dropped
            except EOFError:
                return
            try:
                shell.run(text)
            except KeyboardInterrupt:
                typer.echo("Cancelled.", err=True)
            except Quit:
                return
    finally:
        catalog.close()


def run_piped(session: SqlSession, lines: Iterable[str], output: Format) -> bool:
    """Whether all statements succeeded. Each runs as soon as it is complete."""
    shell = Shell(session, output)
    pending = ""
    try:
        for line in lines:
            pending += line
            if is_complete(pending) or (pending == line and command_of(line) is not None):
                shell.run(pending)
                pending = ""
        if not is_blank(pending):
            shell.run(pending)
    except Quit:
        pass
    return not shell.failed


def history_file() -> Path | None:
    """In the user's state directory; None if it cannot be written."""
    state = os.environ.get("XDG_STATE_HOME")
    folder = (Path(state) if state and os.path.isabs(state) else Path.home() / ".local" / "state") / "barnabas"
    path = folder / "sql_history"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Queries may name people and accounts: only the user reads them.
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    except OSError:
        return None
    return path


def _editor(catalog: Catalog) -> ReadStatement:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.history import FileHistory, InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings

    class SqlCompleter(Completer):
        def get_completions(self, document: Any, complete_event: Any) -> Iterable[Completion]:
            typed, words = complete(document.text_before_cursor, document.text, catalog)
            return [Completion(each, start_position=-len(typed)) for each in words]

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: Any) -> None:
        text = event.current_buffer.text
        if is_complete(text) or is_blank(text) or command_of(text) is not None:
            event.current_buffer.validate_and_handle()
        else:
            event.current_buffer.insert_text("\n")

    path = history_file()
    session: PromptSession[str] = PromptSession(
        history=InMemoryHistory() if path is None else FileHistory(str(path)),
        completer=SqlCompleter(),
        complete_in_thread=True,
        complete_while_typing=False,
        key_bindings=keys,
        multiline=True,
        prompt_continuation=CONTINUED,
    )
    return lambda: session.prompt(PROMPT)


def _plain_reader() -> ReadStatement:
    import readline

    path = history_file()
    if path is not None:
        readline.read_history_file(path)

    def read() -> str:
        text = input(PROMPT)
        while not (is_complete(text) or is_blank(text) or command_of(text) is not None):
            text += "\n" + input(CONTINUED)
        if path is not None:
            readline.write_history_file(path)
        return text

    return read
