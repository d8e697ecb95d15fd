"""Requests and responses of the registry, as Confluent's clients expect them.

Paths are split before they are decoded, so that a subject may contain a slash (``%2F``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, unquote

from starlette.requests import Request
from starlette.responses import Response

from barnabas.registry.content_types import CONTENT_TYPE as CONTENT_TYPE, OFFERED
from barnabas.registry.core.errors import RegistryError, unprocessable

_ACCEPTED: Final = (*OFFERED, "application/octet-stream")
# The largest body: a schema with its references, metadata and rules.
BODY_BYTES_MAX: Final = 2 * 1024 * 1024
_UNAUTHORIZED: Final = 401
# The largest page of a listing, for clients that name none.
PAGE_MAX: Final = 10_000


@dataclass(slots=True)
class Call:
    """A request, taken apart."""

    method: str
    path: tuple[str, ...]
    query: Mapping[str, list[str]]
    request: Request
    arguments: dict[str, str] = field(default_factory=dict)
    """The parts of the path that the route names."""
    principal: str = "User:ANONYMOUS"
    context: str = ""
    """The context that the path begins with, as the prefix of subjects."""
    may_describe: Callable[[str], bool] = lambda _: True
    """Whether the caller may know of a subject."""

    def text(self, name: str, default: str = "") -> str:
        return self.query.get(name, [default])[-1]

    def flag(self, name: str) -> bool:
        return self.text(name).lower() == "true"

    def number(self, name: str, default: int) -> int:
        text = self.text(name)
        if not text:
            return default
        if not text.lstrip("-").isdecimal():
            raise RegistryError(404, f"The parameter {name} is a number, and not {text!r}.")
        return int(text)

    def page(self, values: list[Any]) -> list[Any]:
        """The part of a listing that ``offset`` and ``limit`` name."""
        offset, limit = max(0, self.number("offset", 0)), self.number("limit", -1)
        return values[offset : offset + (limit if 0 <= limit < PAGE_MAX else PAGE_MAX)]

    async def body(self) -> dict[str, Any]:
        kind = self.request.headers.get("content-type", CONTENT_TYPE).partition(";")[0].strip().lower()
        if kind not in _ACCEPTED:
            raise RegistryError(415, "HTTP 415 Unsupported Media Type")
        data = bytearray()
        async for part in self.request.stream():
            data += part
            if len(data) > BODY_BYTES_MAX:
                raise RegistryError(42209, f"The request has more than {BODY_BYTES_MAX} bytes")
        try:
            read = json.loads(bytes(data))
            # Numbers beyond the range of a double and halves of surrogate pairs can be read and
            # not written, so they are refused before they reach the topic.
            json.dumps(read, ensure_ascii=False, allow_nan=False).encode()
        except (ValueError, RecursionError):
            raise RegistryError(400, "The body of the request is no JSON, or has a number or a character that does not exist.") from None
        if not isinstance(read, dict):
            raise unprocessable("The body of the request is no JSON object.")
        return read


def taken_apart(request: Request) -> Call:
    raw = request.scope.get("raw_path") or request.scope["path"].encode()
    path = raw.partition(b"?")[0].decode("ascii", "replace")
    parts = tuple(unquote(part, errors="strict") for part in path.split("/") if part)
    query = parse_qs(request.scope["query_string"].decode("ascii", "replace"), keep_blank_values=True, max_num_fields=100)
    return Call(request.method, parts, query, request)


def answer(value: Any, status: int = 200) -> Response:
    if isinstance(value, Response):
        return value
    # In ASCII, because other registries may have stored texts that cannot be encoded.
    content = json.dumps(value, separators=(",", ":")).encode()
    return Response(content, status, media_type=CONTENT_TYPE)


def refusal(error: RegistryError) -> Response:
    response = answer({"error_code": error.code, "message": error.message}, error.status)
    if error.status == _UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = 'Basic realm="schema registry"'
    return response
