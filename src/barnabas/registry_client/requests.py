"""One request to a registry, to the first of its instances that answers.

The instance that answered last is asked first. Any other is asked when a connection fails, when no
answer comes in time, or when the answer is an error of the instance itself (status 5xx), or of the
moment (408, 429).
"""

from __future__ import annotations

import json
from threading import Lock
from typing import Any, Final
from urllib.parse import quote

import httpx

from barnabas.registry_client.errors import NotFound, RegistryRefused, RegistryUnreachable
from barnabas.registry_client.settings import RegistrySettings
from barnabas.registry_client.tls import tls_context

CONTENT_TYPE: Final = "application/vnd.schemaregistry.v1+json"
# The largest answer that is read: all schemas of a large registry.
ANSWER_BYTES_MAX: Final = 256 * 1024 * 1024
_SENTENCE_CHARACTERS_MAX: Final = 2_000
# The request came too slowly, or too many came: another moment, or another instance, may do.
_TEMPORARY: Final = frozenset({408, 429})


class Requests:
    """May be used by several threads at once."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = settings
        self._first = 0
        self._lock = Lock()
        self._client: httpx.Client | None = None

    def ask(self, method: str, path: str, body: Any = None, *, query: dict[str, str] | None = None) -> Any:
        """The answer as JSON. Raises :class:`RegistryUnreachable` or :class:`RegistryRefused`."""
        urls = self._settings.urls
        first = self._first
        reasons = []
        for offset in range(len(urls)):
            index = (first + offset) % len(urls)
            try:
                status, answer = self._ask_one(method, urls[index], path, body, query)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                reasons.append(f"No registry answers at {urls[index]}: {str(error) or type(error).__name__}")
                if method == "DELETE" and not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
                    # It may be done; the next instance would say that there is nothing to delete.
                    break
                continue
            if status >= 500 or status in _TEMPORARY:
                reasons.append(f"The registry at {urls[index]} is not able to answer: {_message(answer) or f'status {status}'}")
                continue
            self._first = index
            if status >= 400:
                raise _refusal(answer, status)
            return answer
        raise RegistryUnreachable("; ".join(reason.rstrip(".") for reason in reasons) + ".")

    def _ask_one(self, method: str, url: str, path: str, body: Any, query: dict[str, str] | None) -> tuple[int, Any]:
        with self._connected().stream(method, url + path, json=body, params=query) as response:
            content = bytearray()
            for part in response.iter_bytes():
                content += part
                if len(content) > ANSWER_BYTES_MAX:
                    raise RegistryUnreachable(f"The answer of {url} has more than {ANSWER_BYTES_MAX} bytes.")
        try:
            return response.status_code, json.loads(content) if content else None
        except (ValueError, RecursionError):
            if response.status_code >= 400:
                return response.status_code, None
            kind = response.headers.get("content-type", "no type")
            raise RegistryUnreachable(f"{url} is no schema registry: it answers with {kind}.") from None

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _connected(self) -> httpx.Client:
        """The client, made with the first request: TLS files are read then."""
        with self._lock:
            if self._client is None:
                settings = self._settings
                self._client = httpx.Client(
                    auth=httpx.BasicAuth(*settings.login) if settings.login is not None else None,
                    headers={
                        "Accept": f"{CONTENT_TYPE}, application/json",
                        **({"Authorization": f"Bearer {settings.token}"} if settings.token is not None else {}),
                    },
                    timeout=httpx.Timeout(settings.answer_seconds, connect=settings.connect_seconds),
                    verify=tls_context(settings) if any(url.startswith("https:") for url in settings.urls) else True,
                    # Proxies and passwords of the environment are for other programs.
                    trust_env=False,
                    follow_redirects=False,
                )
            return self._client


def escaped(part: str) -> str:
    """A part of a path; subjects may contain slashes."""
    return quote(part, safe="")


def _message(answer: Any) -> str | None:
    message = answer.get("message") if isinstance(answer, dict) else None
    return str(message)[:_SENTENCE_CHARACTERS_MAX].rstrip(".") if message else None


def _refusal(answer: Any, status: int) -> RegistryRefused:
    code = answer.get("error_code") if isinstance(answer, dict) else None
    kind = NotFound if status == 404 else RegistryRefused
    sentence = _message(answer) or f"The registry answers {status}"
    return kind(f"{sentence}.", status=status, code=code if isinstance(code, int) else status)
