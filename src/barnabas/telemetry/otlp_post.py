"""One POST to an OpenTelemetry collector, as OTLP over HTTP. Blocking: call it on a thread.

The statuses follow the specification of OTLP: some ask the sender to try again, and all others
except success mean that the collector will never take these bytes.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from barnabas.model.dataclass import dataclass

POST_SECONDS_MAX = 10.0
_TRY_AGAIN = frozenset({429, 502, 503, 504})


class Fate(Enum):
    TAKEN = "taken"
    REFUSED = "refused"
    TRY_AGAIN = "try again"


@dataclass(frozen=True, slots=True)
class Posted:
    fate: Fate
    # For the log; no bytes of the answer.
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Endpoint:
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def post(self, body: bytes) -> Posted:
        try:
            status = self._status(body)
        except (OSError, HTTPException, ValueError) as error:
            return Posted(Fate.TRY_AGAIN, f"{type(error).__name__}: {error}"[:200])
        if 200 <= status < 300:
            return Posted(Fate.TAKEN)
        return Posted(Fate.TRY_AGAIN if status in _TRY_AGAIN else Fate.REFUSED, f"status {status}")

    def _status(self, body: bytes) -> int:
        parts = urlsplit(self.url)
        assert parts.hostname is not None, "checked when the setting was parsed"
        if parts.scheme == "https":
            connection: HTTPConnection = HTTPSConnection(
                parts.hostname, parts.port, timeout=POST_SECONDS_MAX, context=ssl.create_default_context()
            )
        else:
            connection = HTTPConnection(parts.hostname, parts.port, timeout=POST_SECONDS_MAX)
        try:
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            headers = {"Content-Type": "application/x-protobuf", "Connection": "close", **self.headers}
            connection.request("POST", path, body, headers)
            return connection.getresponse().status
        finally:
            connection.close()
