"""A registry in this process, without brokers: records are replayed as soon as they are written."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import httpx

from barnabas.registry.app import RegistryApp
from barnabas.registry.core.entries import Entry, decode
from barnabas.registry.core.state import RegistryState
from barnabas.registry.service import RegistryService


class Memory:
    """Keeps the records as a topic would, encoded."""

    def __init__(self, state: RegistryState) -> None:
        self._state = state
        self.records: list[tuple[bytes, bytes | None]] = []
        self.given_up = False

    async def write(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            key, value = entry.encode()
            self.records.append((key, value))
            read = decode(key, value)
            assert read == entry, "what is written is read back"
            self._state.replay(read)

    def give_up(self) -> None:
        self.given_up = True

    def replay(self, key: bytes, value: bytes | None) -> None:
        """A record that another registry wrote."""
        self.records.append((key, value))
        read = decode(key, value)
        assert read is not None, key
        self._state.replay(read)


class Client:
    """Asks a registry; each call is one request."""

    def __init__(self, service: RegistryService, memory: Memory) -> None:
        self.service = service
        self.memory = memory
        self._app = RegistryApp(service)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """The status, and the body as JSON."""
        return asyncio.run(self._ask(method, path, body, headers))

    async def _ask(self, method: str, path: str, body: Any, headers: dict[str, str]) -> tuple[int, Any]:
        content = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        transport = httpx.ASGITransport(self._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://registry") as client:
            response = await client.request(method, path, content=content, headers={"content-type": "application/json", **named})
        text = response.text
        return response.status_code, json.loads(text) if text else None

    def get(self, path: str) -> tuple[int, Any]:
        return self.ask("GET", path)

    def register(self, subject: str, schema: Any, **fields: Any) -> tuple[int, Any]:
        query = fields.pop("query", "")
        text = schema if isinstance(schema, str) else json.dumps(schema)
        return self.ask("POST", f"/subjects/{quote(subject, safe='')}/versions{query}", {"schema": text, **fields})

    def registered(self, subject: str, schema: Any, **fields: Any) -> int:
        """The id of a schema that must be accepted."""
        status, answer = self.register(subject, schema, **fields)
        assert status == 200, answer
        return int(answer["id"])

    def error(self, method: str, path: str, body: Any = None) -> tuple[int, int]:
        """The status and the code of an error."""
        status, answer = self.ask(method, path, body)
        return status, answer["error_code"]


def record(*fields: str, name: str = "R") -> dict[str, Any]:
    """Fields in capitals have a default."""
    described = [{"name": each.lower(), "type": "int"} | ({"default": 0} if each.isupper() else {}) for each in fields]
    return {"type": "record", "name": name, "fields": described}
