"""JAAS configuration strings, as users have them in ``sasl.jaas.config``.

    org.apache.kafka.common.security.plain.PlainLoginModule required
        username="admin" password="secret" user_alice="alices";

The grammar is that of Java's login configuration: one or more entries, each a class name, a control
flag, options and a semicolon. Values may be quoted, with backslash escapes inside.
"""

from __future__ import annotations

import re
from dataclasses import field

from barnabas.model.dataclass import dataclass

_FLAGS = frozenset({"required", "requisite", "sufficient", "optional"})
_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/|(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<sign>[=;])|(?P<word>[^\s=;"']+)""", re.DOTALL
)
# Generous for a file of users; a configuration value is read on every connection's listener.
LENGTH_MAX = 1_000_000
_USER = "user_"


@dataclass(frozen=True, slots=True)
class LoginModule:
    name: str  # the class, without its package
    flag: str
    options: dict[str, str] = field(repr=False)

    @property
    def users(self) -> dict[str, str]:
        """The users that PLAIN lists in the options, with their passwords."""
        return {name.removeprefix(_USER): value for name, value in self.options.items() if name.startswith(_USER)}


def parse_jaas(text: str) -> list[LoginModule]:
    """Raises ``ValueError`` with a sentence that repeats no value: values are secrets."""
    if len(text) > LENGTH_MAX:
        raise ValueError(f"a JAAS configuration has at most {LENGTH_MAX} characters")
    tokens = _tokens(text)
    modules = []
    while tokens:
        end = next((index for index, (kind, value) in enumerate(tokens) if kind == "sign" and value == ";"), None)
        if end is None:
            raise ValueError("a JAAS entry ends with a semicolon, and the last one does not")
        modules.append(_module(tokens[:end]))
        tokens = tokens[end + 1 :]
    if not modules:
        raise ValueError("the JAAS configuration has no entry")
    return modules


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, position = [], 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise ValueError(f"the JAAS configuration has a quote that does not end, at character {position + 1}")
        position = found.end()
        if found.lastgroup == "quoted":
            tokens.append(("word", re.sub(r"\\(.)", r"\1", found["quoted"][1:-1], flags=re.DOTALL)))
        elif found.lastgroup is not None:
            tokens.append((found.lastgroup, found[found.lastgroup]))
    return tokens


def _module(tokens: list[tuple[str, str]]) -> LoginModule:
    words = [value for kind, value in tokens[:2] if kind == "word"]
    if len(words) < 2 or words[1].lower() not in _FLAGS:
        raise ValueError(f"a JAAS entry begins with a class and one of {', '.join(sorted(_FLAGS))}")
    options: dict[str, str] = {}
    rest = tokens[2:]
    for index in range(0, len(rest), 3):
        match rest[index : index + 3]:
            case [("word", name), ("sign", "="), ("word", value)]:
                if name in options:
                    raise ValueError(f"the JAAS option {name} is given twice")
                options[name] = value
            case _:
                raise ValueError(f"option {index // 3 + 1} of the JAAS entry {words[0]} is not name=value")
    return LoginModule(words[0].rpartition(".")[2], words[1].lower(), options)
