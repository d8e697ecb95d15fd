"""Passwords as commands take them: typed without an echo, from a file, or from a pipe.

There is no option for the password itself, because every user of a machine can read the arguments
of every process.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.errors import Refused

PasswordFile = Annotated[
    Path | None,
    typer.Option(
        "--password-file",
        metavar="FILE",
        help="A file whose first line is the password. Without it the password is asked for, or read from a pipe.",
    ),
]


def read_password(file: Path | None, whose: str) -> str:
    """The first line of the file or of a pipe; on a terminal it is typed twice."""
    if file is None and sys.stdin.isatty():
        password = typer.prompt(f"Password of {whose}", hide_input=True, confirmation_prompt=True, err=True)
        return str(password)
    place = "Standard input" if file is None else str(file)
    try:
        text = sys.stdin.readline() if file is None else file.read_text(encoding="utf-8")
    except OSError as error:
        raise Refused(f"{place} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise Refused(f"{place} is not UTF-8.") from None
    password = text.partition("\n")[0].rstrip("\r")
    if not password:
        raise Refused(f"{place} has no password in its first line.")
    return password
