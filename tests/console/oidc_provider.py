"""An OpenID provider on a loopback port: it logs everyone in as ``alice``, and checks what the
console sends; and a console for it."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from barnabas.console.settings import ClusterSettings, ConsoleSettings, LoginMode, OidcSettings
from barnabas.testing import EmbeddedBroker
from tests.console.console_thread import ConsoleThread
from tests.scenarios.security.identity_provider import IdentityProvider
from tests.unit.security.sasl.tokens import claims, key_set, signed

CLIENT_ID, CLIENT_SECRET = "console", "secret-of-console"

_BASIC = "Basic " + base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()


class OidcProvider:
    def __init__(self, port: int, tokens: IdentityProvider) -> None:
        """``tokens`` signs, so that brokers accept what is issued here."""
        self.url = f"http://127.0.0.1:{port}"
        self.tokens = tokens
        self.id_changes: dict[str, object] = {}
        self._codes: dict[str, dict[str, str]] = {}
        self.lifetime_seconds: float | None = None
        """Of access tokens; that of the tests of brokers if None."""
        self.rotates = True
        self.refresh_tokens: set[str] = set()
        """Those that are good for one more use; empty without refresh tokens."""
        self.refreshed = 0
        self.offers_refresh = False

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
        if body.get("grant_type") == "refresh_token":
            return self._refreshed(authorization, body["refresh_token"])
        asked = self._codes.pop(body.get("code", ""), None)
        if asked is None or authorization != _BASIC or body["redirect_uri"] != asked["redirect_uri"]:
            return None
        challenge = base64.urlsafe_b64encode(hashlib.sha256(body["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if challenge != asked["code_challenge"]:
            return None
        identity = claims(time.time(), **{"iss": self.url, "aud": CLIENT_ID, "nonce": asked["nonce"], **self.id_changes})
        return {"id_token": signed(self.tokens.key, identity), **self._tokens()}

    def _tokens(self) -> dict[str, str]:
        end = {} if self.lifetime_seconds is None else {"exp": time.time() + self.lifetime_seconds}
        answer = {"access_token": self.tokens.token("alice", **end), "token_type": "Bearer"}
        if self.offers_refresh:
            answer["refresh_token"] = f"refresh-{time.monotonic_ns()}"
            self.refresh_tokens.add(answer["refresh_token"])
        return answer

    def _refreshed(self, authorization: str, token: str) -> dict[str, str] | None:
        """As a provider that rotates refresh tokens: the second use of one ends all of them."""
        if authorization != _BASIC or token not in self.refresh_tokens:
            self.refresh_tokens.clear()
            return None
        self.refreshed += 1
        if not self.rotates:
            return {name: value for name, value in self._tokens().items() if name != "refresh_token"}
        self.refresh_tokens.discard(token)
        return self._tokens()


def console_with_oidc(provider: OidcProvider, broker: EmbeddedBroker) -> ConsoleThread:
    """Not started yet. People log in at the provider; the cluster ``tokens`` gets their tokens."""
    cluster = ClusterSettings("tokens", broker.bootstrap, {"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER"})
    oidc = OidcSettings(provider.url, CLIENT_ID, CLIENT_SECRET, "http://127.0.0.1:1/login/callback")
    console = ConsoleThread(ConsoleSettings((cluster,), login=LoginMode.OIDC, oidc=oidc))
    # The port is known only now.
    console.services.settings = replace(console.settings, oidc=replace(oidc, redirect_url=f"{console.url}/login/callback"))
    return console


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
