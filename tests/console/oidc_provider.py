"""An OpenID provider on a loopback port: it logs everyone in as ``alice``, and checks what the
console sends."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from tests.scenarios.security.identity_provider import IdentityProvider
from tests.unit.security.sasl.tokens import claims, key_set, signed

CLIENT_ID, CLIENT_SECRET = "console", "secret-of-console"


class OidcProvider:
    def __init__(self, port: int, tokens: IdentityProvider) -> None:
        """``tokens`` signs, so that brokers accept what is issued here."""
        self.url = f"http://127.0.0.1:{port}"
        self.tokens = tokens
        self.id_changes: dict[str, object] = {}
        self._codes: dict[str, dict[str, str]] = {}

    def description(self) -> dict[str, str]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
        }

    def authorized(self, query: dict[str, str]) -> str:
        assert query["response_type"] == "code"
        assert query["client_id"] == CLIENT_ID
        assert query["code_challenge_method"] == "S256"
        code = f"code-{len(self._codes)}"
        self._codes[code] = query
        return f"{query['redirect_uri']}?code={code}&state={query['state']}"

    def issued(self, authorization: str, body: dict[str, str]) -> dict[str, str] | None:
        asked = self._codes.pop(body.get("code", ""), None)
        expected = "Basic " + base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if asked is None or authorization != expected or body["redirect_uri"] != asked["redirect_uri"]:
            return None
        challenge = base64.urlsafe_b64encode(hashlib.sha256(body["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if challenge != asked["code_challenge"]:
            return None
        identity = claims(time.time(), **{"iss": self.url, "aud": CLIENT_ID, "nonce": asked["nonce"], **self.id_changes})
        return {"access_token": self.tokens.token("alice"), "id_token": signed(self.tokens.key, identity), "token_type": "Bearer"}


@contextmanager
def oidc_provider(tokens: IdentityProvider) -> Iterator[OidcProvider]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", provider.authorized({name: each[0] for name, each in parse_qs(parts.query).items()}))
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif parts.path == "/keys":
                self._answer(200, key_set(provider.tokens.key))
            else:
                self._answer(200, json.dumps(provider.description()).encode())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            issued = provider.issued(self.headers.get("Authorization", ""), {name: each[0] for name, each in parse_qs(body).items()})
            self._answer(400 if issued is None else 200, json.dumps(issued or {"error": "invalid_grant"}).encode())

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = OidcProvider(server.server_address[1], tokens)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
