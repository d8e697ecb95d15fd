"""Bodies of requests: JSON, forms and forms with files, each with a bound.

Forms with files are read here rather than by a library: the console takes one small file beside a
few fields, and keeps all of it in memory below
:data:`~barnabas.console.limits.BODY_BYTES_MAX`.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.requests import Request

from barnabas.console.errors import BadValue
from barnabas.console.limits import BODY_BYTES_MAX, FORM_FIELDS_MAX

_BOUNDARY: Final = re.compile(r'boundary="?([^";]{1,70})"?')
_NAME: Final = re.compile(rb'[ ;]name="([^"]*)"')


async def read_body(request: Request) -> dict[str, Any]:
    """The fields; a field that is given several times is a list."""
    kind = request.headers.get("content-type", "").lower()
    data = await _bytes(request)
    if kind.startswith("application/json"):
        return read_json(data)
    if kind.startswith("multipart/form-data"):
        return read_parts(data, request.headers["content-type"])
    if kind.startswith("application/x-www-form-urlencoded") or not data:
        return read_form(data)
    raise BadValue("The body of a request is JSON or a form.")


def read_json(data: bytes) -> dict[str, Any]:
    try:
        read = json.loads(data) if data else {}
    except (ValueError, RecursionError):
        raise BadValue("The body of the request is no JSON.") from None
    if not isinstance(read, dict):
        raise BadValue("The body of the request is no JSON object.")
    return read


def read_form(data: bytes) -> dict[str, Any]:
    try:
        read = parse_qs(data.decode("utf-8"), keep_blank_values=True, max_num_fields=FORM_FIELDS_MAX, errors="strict")
    except ValueError:
        raise BadValue("The form cannot be read.") from None
    return {name: values[0] if len(values) == 1 else values for name, values in read.items()}


def read_parts(data: bytes, content_type: str) -> dict[str, Any]:
    """A field whose part is no UTF-8 is refused: files of records are text."""
    found = _BOUNDARY.search(content_type)
    if found is None:
        raise BadValue("The form has no boundary.")
    fields: dict[str, Any] = {}
    parts = data.split(b"--" + found[1].encode("latin-1"))[1:-1]
    if len(parts) > FORM_FIELDS_MAX:
        raise BadValue("The form has too many fields.")
    for part in parts:
        head, _, body = part.partition(b"\r\n\r\n")
        name = _NAME.search(head)
        if name is None:
            raise BadValue("A field of the form has no name.")
        try:
            text = body.removesuffix(b"\r\n").decode("utf-8")
            key = name[1].decode("utf-8")
        except UnicodeDecodeError:
            raise BadValue("A field of the form is no UTF-8.") from None
        fields[key] = [*_listed(fields[key]), text] if key in fields else text
    return fields


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


async def _bytes(request: Request) -> bytes:
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > BODY_BYTES_MAX:
            raise BadValue(f"The request has more than {BODY_BYTES_MAX} bytes.")
    return bytes(data)
