"""Commands of the shell that are not SQL: those of psql, and their names in other shells."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple

HELP = r"""SELECT ... ;             a query; a semicolon ends it, on this line or a later one
DESCRIBE topic;          the columns of a topic              (\d topic)
SHOW TOPICS;             the topics                          (\dt)
\timing                  show the time and the engine of each answer, or stop to
\engine auto             choose the engine: auto, embedded or spark
\format table            print answers as table, json or csv
\?                       this help                           (.help)
\q                       end the shell                       (.quit, Ctrl-D)
Ctrl-C cancels a query. Tab completes names. Arrow keys bring back earlier statements."""


class Kind(Enum):
    HELP = auto()
    QUIT = auto()
    TOPICS = auto()
    DESCRIBE = auto()
    TIMING = auto()
    ENGINE = auto()
    FORMAT = auto()
    UNKNOWN = auto()


class ShellCommand(NamedTuple):
    kind: Kind
    argument: str = ""


_BY_MARK = {
    "?": Kind.HELP,
    "h": Kind.HELP,
    "help": Kind.HELP,
    "q": Kind.QUIT,
    "quit": Kind.QUIT,
    "exit": Kind.QUIT,
    "dt": Kind.TOPICS,
    "topics": Kind.TOPICS,
    "tables": Kind.TOPICS,
    "d": Kind.DESCRIBE,
    "schema": Kind.DESCRIBE,
    "timing": Kind.TIMING,
    "timer": Kind.TIMING,
    "engine": Kind.ENGINE,
    "format": Kind.FORMAT,
    "mode": Kind.FORMAT,
}
_WORDS = {"help": Kind.HELP, "quit": Kind.QUIT, "exit": Kind.QUIT, "show topics": Kind.TOPICS, "show tables": Kind.TOPICS}


def command_of(text: str) -> ShellCommand | None:
    """None: the text is SQL, or the beginning of it."""
    words = " ".join(text.strip().rstrip(";").split())
    if words.lower() in _WORDS:
        return ShellCommand(_WORDS[words.lower()])
    found = re.fullmatch(r"[\\.](\?|[A-Za-z]\w*)(?: (.*))?", words)
    if found is None:
        return None
    kind = _BY_MARK.get(found[1].lower(), Kind.UNKNOWN)
    argument = (found[2] or "").strip("`")
    if kind is Kind.DESCRIBE and not argument:
        kind = Kind.TOPICS
    return ShellCommand(kind, words if kind is Kind.UNKNOWN else argument)
