r"""Java's ``.properties`` text, read and written as ``java.util.Properties`` does.

A logical line is one natural line, or several joined by a backslash at the end of each but the
last; white space at the start of a line is skipped. Lines that begin with ``#`` or ``!`` are
comments, and a backslash does not continue them. The key ends at the first ``=``, ``:`` or white
space without a backslash before it. ``\t \n \r \f`` and ``\uXXXX`` have their Java meaning. A
backslash before any other character is dropped, so ``C:\data`` loses its backslash here as it does
in Java.

Kafka decodes the file's bytes as Latin-1. :func:`write_properties` writes pure ASCII, which reads
the same in either encoding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from barnabas.config.keys import ConfigError

_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_UNESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f", "\\": "\\\\", "=": "\\=", ":": "\\:", "#": "\\#", "!": "\\!"}


def read_properties(text: str) -> dict[str, str]:
    """Later lines win over earlier ones of the same key."""
    properties = {}
    for line in _logical_lines(text):
        end = _key_end(line)
        rest = line[end:].lstrip(_BLANK)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_BLANK)
        properties[_unescape(line[:end])] = _unescape(rest)
    return properties


def write_properties(properties: Mapping[str, str]) -> str:
    return "".join(f"{_escape(name, ' ')}={_escape_value(value)}\n" for name, value in properties.items())


def _logical_lines(text: str) -> Iterator[str]:
    joined = ""
    continued = False
    for natural in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = natural.lstrip(_BLANK)
        if not continued and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        continued = backslashes % 2 == 1
        joined += line[:-1] if continued else line
        if not continued:
            yield joined
            joined = ""
    if joined:
        yield joined


def _key_end(line: str) -> int:
    escaped = False
    for position, character in enumerate(line):
        if not escaped and (character in "=:" or character in _BLANK):
            return position
        escaped = character == "\\" and not escaped
    return len(line)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    parts = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character == "\\":
            if position == len(text):
                break
            character = text[position]
            position += 1
            if character == "u":
                character = _unicode(text[position : position + 4])
                position += 4
            else:
                character = _ESCAPES.get(character, character)
        parts.append(character)
    # Java writes a character beyond 16 bits as two escapes; together they are one character.
    return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unicode(digits: str) -> str:
    if len(digits) != 4 or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
        raise ConfigError(f"In a properties file \\u must be followed by four hexadecimal digits, but here it is \\u{digits}.")
    return chr(int(digits, 16))


def _escape(text: str, spaces: str) -> str:
    return "".join(f"\\{character}" if character in spaces else _escape_character(character) for character in text)


def _escape_value(value: str) -> str:
    # Only leading white space would be lost; inside a value it stays as it is.
    body = value.lstrip(" ")
    return "\\ " * (len(value) - len(body)) + _escape(body, "")


def _escape_character(character: str) -> str:
    if character in _UNESCAPES:
        return _UNESCAPES[character]
    if " " <= character <= "~":
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02X}{units[at + 1]:02X}" for at in range(0, len(units), 2))
