"""One document of an identity provider, from a URL or a file. Blocking: call it on a thread.

The address is on the operator's allow-list, but its answer is not trusted: it may be huge, slow or
sent by another machine. So redirects are refused, since they would leave the list, and size and
time have limits. Proxies of the environment are not used.
"""

from __future__ import annotations

import ssl
from dataclasses import field
from http.client import HTTPException
from pathlib import Path
from time import monotonic
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

from barnabas.model.dataclass import dataclass

# Key sets and tokens have some kilobytes.
DOCUMENT_BYTES_MAX = 1024 * 1024
# For the whole answer, where the settings have no time of their own.
FETCH_SECONDS_MAX = 10.0
_PIECE_BYTES = 65_536
SCHEMES = frozenset({"http", "https", "file"})


class FetchFailed(Exception):
    """One sentence, without bytes of the answer."""


@dataclass(frozen=True, slots=True)
class Fetch:
    url: str
    # A POST with these bytes; None is a GET.
    body: bytes | None = field(default=None, repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    # None trusts the certificates of the system.
    tls: ssl.SSLContext | None = None
    seconds_max: float = FETCH_SECONDS_MAX


def fetched(fetch: Fetch) -> bytes:
    """Raises :class:`FetchFailed`."""
    parts = urlsplit(fetch.url)
    if parts.scheme == "file":
        return read_document(Path(unquote(parts.path)))
    deadline = monotonic() + fetch.seconds_max
    opener = build_opener(ProxyHandler({}), _NoRedirects(), HTTPSHandler(context=fetch.tls))
    request = Request(fetch.url, fetch.body, {"Accept": "application/json", **fetch.headers})  # noqa: S310 - an allowed URL
    try:
        with opener.open(request, timeout=fetch.seconds_max) as answer:
            document = bytearray()
            while piece := answer.read1(_PIECE_BYTES):
                document += piece
                if len(document) > DOCUMENT_BYTES_MAX:
                    raise FetchFailed(f"{fetch.url} answered with more than {DOCUMENT_BYTES_MAX} bytes")
                if monotonic() > deadline:
                    raise FetchFailed(f"{fetch.url} took longer than {fetch.seconds_max:g} seconds")
            declared = answer.headers.get("Content-Length", "")
            if declared.isdecimal() and int(declared) > len(document):
                raise FetchFailed(f"{fetch.url} closed the connection in the middle of its answer")
            return bytes(document)
    except HTTPError as error:
        error.close()
        raise FetchFailed(f"{fetch.url} answered with status {error.code}") from error
    except URLError as error:
        raise FetchFailed(f"{fetch.url} cannot be reached: {error.reason}") from error
    except (OSError, HTTPException, ValueError) as error:
        raise FetchFailed(f"{fetch.url} cannot be read: {type(error).__name__}") from error


def read_document(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            document = file.read(DOCUMENT_BYTES_MAX + 1)
    except OSError as error:
        raise FetchFailed(f"{path} cannot be read: {error.strerror}") from error
    if len(document) > DOCUMENT_BYTES_MAX:
        raise FetchFailed(f"{path} has more than {DOCUMENT_BYTES_MAX} bytes")
    return document


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """None makes urllib report the redirect as an error."""
        return
