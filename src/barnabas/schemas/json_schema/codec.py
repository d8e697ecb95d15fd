"""Documents of a JSON Schema: JSON in UTF-8, valid by the schema.

jsonschema-rs validates. It fetches nothing here: it knows the schema and its references by name,
and refuses everything else. Regular expressions run in linear time where its linear engine
knows the syntax, and otherwise with a bound on their steps.

A schema without ``$schema`` is of draft 7, as in Confluent's clients.
"""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import urljoin

import jsonschema_rs

from barnabas.schemas.errors import DoesNotDecode, DoesNotEncode, InvalidSchema
from barnabas.schemas.json_schema.effort import Effort
from barnabas.schemas.json_schema.json_schema import JsonSchema
from barnabas.schemas.limits import DATA_BYTES_MAX, DATA_DEPTH_MAX, JSON_EVALUATIONS_MAX

# Steps of a regular expression with lookarounds or back references: about a tenth of a second.
_REGEX_STEPS_MAX: Final = 1_000_000
_REASON_CHARACTERS_MAX: Final = 300


class JsonCodec:
    def __init__(self, schema: JsonSchema, reader: JsonSchema | None = None) -> None:
        self._writer = _Validation(schema)
        # Data is valid by the schema that wrote it; the reader wants its own to hold.
        self._reader = _Validation(reader) if reader is not None else self._writer

    def decode(self, payload: bytes) -> object:
        if len(payload) > DATA_BYTES_MAX:
            raise DoesNotDecode(f"the document has {len(payload)} bytes, and the limit is {DATA_BYTES_MAX}")
        if _may_be_deep(payload) and _depth(payload) > DATA_DEPTH_MAX:
            raise DoesNotDecode(f"the document is nested more than {DATA_DEPTH_MAX} deep")
        try:
            value = json.loads(payload.decode(), parse_constant=_refuse_constant)
        except UnicodeDecodeError:
            raise DoesNotDecode("the document is no UTF-8") from None
        except DoesNotDecode:
            raise
        except json.JSONDecodeError as error:
            raise DoesNotDecode(f"the document is no JSON: {error}") from None
        except ValueError:
            # Python converts no numbers of thousands of digits, because that takes quadratic time.
            raise DoesNotDecode("the document has a number with too many digits") from None
        if (fault := self._reader.fault(value)) is not None:
            raise DoesNotDecode(*fault)
        return value

    def encode(self, value: object) -> bytes:
        try:
            written = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:
            raise DoesNotEncode("a text has half a surrogate pair, which UTF-8 cannot have") from None
        except (TypeError, ValueError, RecursionError) as error:
            raise DoesNotEncode(f"the value is no JSON: {error}") from None
        if _may_be_deep(written) and _depth(written) > DATA_DEPTH_MAX:
            raise DoesNotEncode(f"the value is nested more than {DATA_DEPTH_MAX} deep")
        if (fault := self._writer.fault(value)) is not None:
            raise DoesNotEncode(*fault)
        return written


class _Validation:
    def __init__(self, schema: JsonSchema) -> None:
        self._validator = _validator(schema)
        effort = Effort(schema.value, schema.known)
        self._effort = effort if effort.is_counted else None

    def fault(self, value: object) -> tuple[str, str] | None:
        """The reason and the path of the first error."""
        if self._effort is not None and self._effort.is_too_much(value):
            return f"to check the document takes more than {JSON_EVALUATIONS_MAX} steps", ""
        try:
            if self._validator.is_valid(value):
                return None
            error = next(self._validator.iter_errors(value), None)
        except (ValueError, TypeError, OverflowError) as unusable:
            return f"the value is no JSON: {unusable}", ""
        if error is None:
            return "the value is not valid", ""
        return str(error.message)[:_REASON_CHARACTERS_MAX], "/".join(map(str, error.instance_path))


def _validator(schema: JsonSchema) -> Any:
    value = schema.value
    declared = value.get("$schema") if isinstance(value, dict) else None
    base = value.get("$id", value.get("id")) if isinstance(value, dict) else None
    resources = dict(schema.known)
    if isinstance(base, str):
        resources |= {urljoin(base, name): document for name, document in schema.known.items()}
    failure: Exception | None = None
    for options in (jsonschema_rs.RegexOptions(), jsonschema_rs.FancyRegexOptions(backtrack_limit=_REGEX_STEPS_MAX)):
        for make in (jsonschema_rs.validator_for, jsonschema_rs.Draft7Validator) if declared else (jsonschema_rs.Draft7Validator,):
            try:
                registry = jsonschema_rs.Registry(list(resources.items()), retriever=_refuse_retrieval) if resources else None
                return make(value, registry=registry, retriever=_refuse_retrieval, pattern_options=options)
            except (ValueError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
                failure = error
    raise InvalidSchema(f"The schema cannot be used: {str(failure).splitlines()[0]}.") from None


def _refuse_retrieval(address: str) -> Any:
    raise ValueError(f"{address} is no reference of the schema; nothing is fetched")


def _may_be_deep(document: bytes) -> bool:
    """A cheap question first: most documents have few brackets altogether."""
    return document.count(b"[") + document.count(b"{") > DATA_DEPTH_MAX


def _depth(document: bytes) -> int:
    """The deepest nesting of brackets outside of texts, before a recursive parser sees them."""
    depth = deepest = 0
    in_text = escaped = False
    for byte in document:
        if in_text:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                in_text = False
        elif byte == 0x22:
            in_text = True
        elif byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def _refuse_constant(constant: str) -> Any:
    raise DoesNotDecode(f"{constant} is no JSON")
