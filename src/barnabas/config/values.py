"""Java's text forms of configuration values, read and written exactly.

A value travels as text in ``server.properties``, in AlterConfigs and in DescribeConfigs, and
clients compare that text. So reading follows ``ConfigDef.parseType`` and writing follows
``ConfigDef.convertToString``: integers have Java's widths and none of Python's underscores, doubles
print as ``Double.toString`` prints them, and white space is that of Java's ``trim``.

:func:`read` returns None for text that is not of the type; the key, which knows its name, turns
that into an error.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import re

Value: TypeAlias = bool | int | float | str | tuple[str, ...] | None

SHORT_MAX: Final = 2**15 - 1
INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1
DOUBLE_MAX: Final = 1.7976931348623157e308

_TRIMMED = "".join(map(chr, range(0x21)))  # String.trim removes every character up to the space.
_AROUND_COMMAS = " \t\n\x0b\f\r"  # The characters that \s matches around the commas of a list.
_HIDDEN = "[hidden]"


class ConfigType(Enum):
    """The types of ConfigDef; the numbers are those of DescribeConfigs responses."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9

    @property
    def code(self) -> int:
        code: int = self.value
        return code


class Password(str):
    """A secret that stays out of logs and tracebacks; only ``.text`` reveals it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return _HIDDEN


def trim(text: str) -> str:
    return text.strip(_TRIMMED)


def read(kind: ConfigType, text: str) -> Value:
    trimmed = trim(text)
    match kind:
        case ConfigType.BOOLEAN:
            return {"true": True, "false": False}.get(trimmed.lower())
        case ConfigType.INT:
            return read_integer(trimmed)
        case ConfigType.LONG:
            return read_integer(trimmed, LONG_MAX)
        case ConfigType.SHORT:
            return read_integer(trimmed, SHORT_MAX)
        case ConfigType.DOUBLE:
            return _double(trimmed)
        case ConfigType.LIST:
            return split_list(trimmed)
        case ConfigType.PASSWORD:
            return Password(trimmed)
        case ConfigType.CLASS:
            # Kafka loads the class here; Barnabas can only check that there is a name.
            return trimmed or None
        case ConfigType.STRING:
            return trimmed


def split_list(trimmed: str) -> tuple[str, ...]:
    return tuple(item.strip(_AROUND_COMMAS) for item in trimmed.split(",")) if trimmed else ()


def write(kind: ConfigType, value: Value) -> str | None:
    """The text Kafka shows for a value; None stays None, the null of the wire."""
    if value is None:
        return None
    if kind is ConfigType.PASSWORD:
        return _HIDDEN
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if kind is ConfigType.DOUBLE:
        assert isinstance(value, int | float)
        return java_double(float(value))
    return str(value)


def java_double(value: float) -> str:
    """``Double.toString``: like Python's repr between a thousandth and ten million, with an ``E``
    outside.
    """
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    significant = digits.lstrip("0")
    scale = len(whole) + int(exponent or 0) - (len(digits) - len(significant)) - 1
    significant = significant.rstrip("0")
    return f"{'-' if value < 0 else ''}{significant[0]}.{significant[1:] or '0'}E{scale}"


def read_integer(text: str, greatest: int = INT_MAX) -> int | None:
    """``Integer.parseInt`` and its wider and narrower variants: no white space, no underscores, at
    most a sign.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isdecimal():
        return None
    # Java accepts any number of leading zeros; the bound on the rest keeps a hostile text from
    # costing quadratic time.
    significant = digits.lstrip("0")
    if len(significant) > len(str(greatest)):
        return None
    number = int(significant or "0")
    if text[0] == "-":
        number = -number
    return number if -greatest - 1 <= number <= greatest else None


def _double(text: str) -> float | None:
    decimal, hexadecimal = _double_patterns()
    sign, unsigned = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    if unsigned in ("NaN", "Infinity"):
        return float(sign + unsigned)
    if decimal.fullmatch(unsigned):
        return float(sign + unsigned.rstrip("fFdD"))
    if found := hexadecimal.fullmatch(unsigned):
        try:
            return float.fromhex(f"{sign}0x{found[1]}p{found[2]}")
        except OverflowError:
            return float(f"{sign}inf")
    return None


@lru_cache(maxsize=1)
def _double_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    # Compiled at first use: few nodes set a double, and start-up should not pay for it.
    import re

    return (
        re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?"),
        re.compile(r"0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP]([+-]?[0-9]+)[fFdD]?"),
    )
