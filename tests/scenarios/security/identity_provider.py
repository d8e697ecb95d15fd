"""An identity provider on a loopback port: a key set, and tokens for clients with a secret."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.unit.security.sasl.tokens import Key, claims, key_set, rsa_key, signed

CLIENT_ID, CLIENT_SECRET = "node", "secret-of-node"
_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


class IdentityProvider:
    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.key: Key = rsa_key()
        self.key_requests = 0
        self.token_requests = 0
        # What a request for keys gets instead of them, as a status and a body.
        self.fault: tuple[int, bytes] | None = None

    @property
    def keys_url(self) -> str:
        return f"{self.url}/keys"

    @property
    def token_url(self) -> str:
        return f"{self.url}/token"

    def token(self, subject: str = "alice", **changes: Any) -> str:
        return signed(self.key, claims(time.time(), sub=subject, **changes))

    def keys(self) -> tuple[int, bytes]:
        self.key_requests += 1
        return self.fault or (200, key_set(self.key))

    def grant(self, authorization: str) -> tuple[int, bytes]:
        self.token_requests += 1
        expected = "Basic " + base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if authorization != expected:
            return 401, b'{"error": "invalid_client"}'
        answer = {"access_token": self.token(CLIENT_ID), "expires_in": 3600, "token_type": "Bearer"}
        return 200, json.dumps(answer).encode()


@contextmanager
def identity_provider() -> Iterator[IdentityProvider]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(*(provider.keys() if self.path == "/keys" else (404, b"")))

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._answer(*provider.grant(self.headers.get("Authorization", "")))

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            if status in (301, 302):
                self.send_header("Location", f"{provider.url}/elsewhere")
            self.send_header("Content-Length", str(len(body)))
            # A node ends the connection when the answer is larger than it accepts.
            with suppress(ConnectionError):
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = IdentityProvider(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def bearer_settings(provider: IdentityProvider, *listeners: str) -> dict[str, str]:
    """For a node whose listeners of these names let clients in by token, and that logs in by
    token."""
    jaas = f'{_MODULE} required clientId="{CLIENT_ID}" clientSecret="{CLIENT_SECRET}";'
    return {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
        "sasl.mechanism.controller.protocol": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": provider.keys_url,
        "sasl.oauthbearer.token.endpoint.url": provider.token_url,
        "sasl.oauthbearer.expected.issuer": "issuer",
        "sasl.oauthbearer.expected.audience": "kafka",
        "barnabas.sasl.oauthbearer.allowed.urls": f"{provider.keys_url},{provider.token_url}",
        **{f"listener.name.{each.lower()}.oauthbearer.sasl.jaas.config": jaas for each in listeners},
    }
