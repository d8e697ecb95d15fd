"""The way of a write from a follower to the leader."""

from __future__ import annotations

from typing import Final

import httpx
from starlette.responses import Response

from barnabas.registry.caller_address import HEADER as CALLER_ADDRESS, AddressSeal
from barnabas.registry.core.errors import forwarding_failed, no_leader
from barnabas.registry.http import BODY_BYTES_MAX, CONTENT_TYPE, Call

FORWARD_SECONDS_MAX: Final = 60.0
# Headers that belong to the connection, and not to the request.
_OWN_HEADERS: Final = frozenset({"host", "connection", "content-length", "transfer-encoding", "keep-alive", "upgrade", CALLER_ADDRESS})


class LeaderForwarding:
    def __init__(self, verify: str | bool = True, seal: AddressSeal | None = None) -> None:
        """``verify`` is the file of the certificates that the leader's is checked against. ``seal``
        tells the leader the address of the caller."""
        self.leader_url: str | None = None
        self._seal = seal
        self._client = httpx.AsyncClient(timeout=FORWARD_SECONDS_MAX, verify=verify, trust_env=False)

    async def forward(self, call: Call) -> Response:
        if self.leader_url is None:
            raise no_leader()
        scope = call.request.scope
        path = (scope.get("raw_path") or scope["path"].encode()).partition(b"?")[0].decode("ascii", "replace")
        query = scope["query_string"].decode("ascii", "replace")
        headers = [(name, value) for name, value in call.request.headers.items() if name.lower() not in _OWN_HEADERS]
        headers.append(("X-Forward", "true"))
        if self._seal is not None:
            headers.append(self._seal.header(call.request))
        body = bytearray()
        async for part in call.request.stream():
            body += part
            if len(body) > BODY_BYTES_MAX:
                raise forwarding_failed(f"The request has more than {BODY_BYTES_MAX} bytes")
        url = f"{self.leader_url}{path}{'?' + query if query else ''}"
        try:
            response = await self._client.request(call.method, url, content=bytes(body), headers=headers)
        except httpx.HTTPError as error:
            raise forwarding_failed(f"The leader at {self.leader_url} cannot be reached: {error or type(error).__name__}") from None
        return Response(response.content, response.status_code, media_type=response.headers.get("content-type", CONTENT_TYPE))

    async def close(self) -> None:
        await self._client.aclose()
