"""JSON as Java's libraries write it, so that equal schemas have equal bytes in every registry."""

from __future__ import annotations

import json
from typing import Any

from barnabas.schemas.errors import InvalidSchema, SchemaTooComplex
from barnabas.schemas.limits import SCHEMA_CHARACTERS_MAX


def read_json(text: str) -> Any:
    """Raises :class:`InvalidSchema` for any other text, and for a repeated name in an object."""
    if len(text) > SCHEMA_CHARACTERS_MAX:
        raise SchemaTooComplex(f"The schema has {len(text)} characters; the limit is {SCHEMA_CHARACTERS_MAX}.")
    try:
        return json.loads(text, object_pairs_hook=_once_each, parse_constant=_refuse_constant)
    except InvalidSchema:
        raise
    except RecursionError:
        raise SchemaTooComplex("The schema is nested too deeply.") from None
    except json.JSONDecodeError as error:
        raise InvalidSchema(f"The schema is no JSON: {error}.") from None
    except ValueError:
        # Python converts no numbers of thousands of digits, because that takes quadratic time.
        raise SchemaTooComplex("The schema has a number with too many digits.") from None


def write_json(value: Any, *, sort_keys: bool = False) -> str:
    """Compact, with characters beyond ASCII as they are."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys)
    except RecursionError:
        raise SchemaTooComplex("The schema is nested too deeply.") from None


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        repeated = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InvalidSchema(f"The name {repeated!r} stands twice in one object.")
    return found


def _refuse_constant(constant: str) -> Any:
    raise InvalidSchema(f"{constant} is no JSON.")
