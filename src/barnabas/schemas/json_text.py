"""JSON as Java's libraries write it, so that equal schemas have equal bytes in every registry.

What is read here can be written again: a new text has no number beyond the range of a double and no
half of a surrogate pair. A *stored* text of another registry may have both.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any, Final

from barnabas.schemas.errors import InvalidSchema, SchemaTooComplex
from barnabas.schemas.limits import SCHEMA_CHARACTERS_MAX

# Characters of a number in an error: numbers may have hundreds of thousands of them.
NUMBER_SHOWN_MAX: Final = 40
# Numbers beyond the range of a double become the largest ones, which JSON can express.
_STORED_CONSTANTS: Final = {"Infinity": sys.float_info.max, "-Infinity": -sys.float_info.max, "NaN": None}


def read_json(text: str, *, stored: bool = False) -> Any:
    """Raises :class:`InvalidSchema` for any other text, and for a repeated name in an object."""
    if len(text) > SCHEMA_CHARACTERS_MAX:
        raise SchemaTooComplex(f"The schema has {len(text)} characters; the limit is {SCHEMA_CHARACTERS_MAX}.")
    try:
        if stored:
            return json.loads(text, object_pairs_hook=_once_each, parse_float=_bounded, parse_constant=_STORED_CONSTANTS.__getitem__)
        value = json.loads(text, object_pairs_hook=_once_each, parse_float=_finite, parse_constant=_refuse_constant)
        if "\\u" in text:
            _encoded(value)
        return value
    except InvalidSchema:
        raise
    except RecursionError:
        raise SchemaTooComplex("The schema is nested too deeply.") from None
    except UnicodeEncodeError:
        raise InvalidSchema("The schema has half of a surrogate pair, which is no character.") from None
    except json.JSONDecodeError as error:
        raise InvalidSchema(f"The schema is no JSON: {error}.") from None
    except ValueError:
        # Python converts no numbers of thousands of digits, because that takes quadratic time.
        raise SchemaTooComplex("The schema has a number with too many digits.") from None


def write_json(value: Any, *, sort_keys: bool = False) -> str:
    """Compact, with characters beyond ASCII as they are. Halves of surrogate pairs, which are no
    characters, stay escaped."""
    try:
        return _encoded(value, sort_keys=sort_keys, errors="backslashreplace").decode()
    except RecursionError:
        raise SchemaTooComplex("The schema is nested too deeply.") from None


def _encoded(value: Any, *, sort_keys: bool = False, errors: str = "strict") -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=sort_keys).encode(errors=errors)


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise InvalidSchema(f"The number {text[:NUMBER_SHOWN_MAX]} is beyond the range of a double.")
    return value


def _bounded(text: str) -> float:
    return max(-sys.float_info.max, min(sys.float_info.max, float(text)))


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        repeated = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InvalidSchema(f"The name {repeated!r} stands twice in one object.")
    return found


def _refuse_constant(constant: str) -> Any:
    raise InvalidSchema(f"{constant} is no JSON.")
