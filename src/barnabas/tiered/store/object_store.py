"""A remote store that is an object store: S3, Google Cloud Storage, Azure, through ``obstore``.

The package retries, within limits: a response or an error comes within :data:`RETRY_SECONDS_MAX`
and the time of one request. Longer outages are left to the caller. Large objects are uploaded as
several parts, of which only a few are in memory; the object becomes visible when the last one has
arrived. The parts that a crash leaves are invisible but cost money: a lifecycle rule of the bucket
should abort such uploads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from barnabas.config.keys import ConfigError
from barnabas.model.buffers import Buffer
from barnabas.tiered.store.store import ObjectMissing, RemoteDataDamaged, RemoteStoreError, StoredObject, StoreRefused, StoreUnavailable

if TYPE_CHECKING:
    import obstore.store

# S3 takes parts from 5 MiB on, and at most 10,000 of them.
PART_BYTES = 8 * 1024 * 1024
# Multiplied by the part size, this is the memory of one copy.
PARTS_AT_ONCE = 3
CONNECT_SECONDS_MAX = 5
# For one request with its body: a part arrives within this time even at 300 KB/s.
REQUEST_SECONDS_MAX = 30
RETRIES_MAX = 3
RETRY_SECONDS_MAX = 20
_BACKOFF = {"init_backoff": timedelta(milliseconds=200), "max_backoff": timedelta(seconds=2), "base": 2}
_BEHIND_THE_END = "416 Range Not Satisfiable"
_ENDPOINTS = ("endpoint", "endpoint_url", "aws_endpoint", "aws_endpoint_url", "azure_storage_endpoint", "azure_endpoint", "base_url")
_ENDPOINT_VARIABLES = ("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")


class ObjectStore:
    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        """Raises ``ConfigError`` when the URL or an option is invalid; no request is sent yet."""
        try:
            import obstore
            from obstore import exceptions
            from obstore.store import from_url
        except ModuleNotFoundError:
            raise ConfigError(
                f"remote.log.storage.url is {url}, for which the package obstore is needed: pip install 'barnabas[tiered]'."
            ) from None
        config, client = _sorted_options(options)
        # The package declares one signature per kind of store, and only the URL determines the
        # kind.
        arguments: dict[str, Any] = {
            "config": config or None,
            "client_options": {
                "connect_timeout": timedelta(seconds=CONNECT_SECONDS_MAX),
                "timeout": timedelta(seconds=REQUEST_SECONDS_MAX),
                **client,
            },
            "retry_config": {"max_retries": RETRIES_MAX, "retry_timeout": timedelta(seconds=RETRY_SECONDS_MAX), "backoff": _BACKOFF},
        }
        try:
            store = from_url(url, **arguments)
        except (exceptions.BaseError, ValueError, TypeError) as error:
            raise ConfigError(
                f"remote.log.storage.url {url} or its remote.log.storage.config options cannot be used: {_text(error)}"
            ) from error
        self._obstore = obstore
        self._store: obstore.store.ObjectStore = store
        self._url = url
        self._refusals = (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError)
        self._errors = (exceptions.BaseError, OSError, ValueError)

    def put(self, name: str, data: bytes | Iterable[Buffer]) -> None:
        pieces = data if isinstance(data, bytes) else _Pieces(data)
        try:
            self._obstore.put(
                self._store,
                name,
                pieces,
                use_multipart=not isinstance(data, bytes),
                chunk_size=PART_BYTES,
                max_concurrency=PARTS_AT_ONCE,
            )
        except Exception as error:
            if isinstance(pieces, _Pieces) and pieces.failure is not None:
                # The caller that supplied the pieces knows its own exception; the package would
                # wrap it in another one.
                raise pieces.failure from None
            if isinstance(error, FileNotFoundError):
                raise StoreRefused(f"{name} cannot be put into {self._url}: the bucket does not exist") from error
            if isinstance(error, self._errors):
                raise self._error(name, error) from error
            raise

    def get(self, name: str, *, size_bytes_max: int) -> bytes:
        try:
            result = self._obstore.get(self._store, name)
            size_bytes = result.meta["size"]
            if size_bytes > size_bytes_max:
                raise RemoteDataDamaged(f"{name} in {self._url} has {size_bytes} bytes, more than {size_bytes_max}")
            return bytes(result.bytes())
        except self._errors as error:
            raise self._error(name, error) from error

    def get_range(self, name: str, start: int, size_bytes: int) -> bytes:
        try:
            return bytes(self._obstore.get_range(self._store, name, start=start, length=size_bytes))
        except self._errors as error:
            raise self._error(name, error) from error

    def delete(self, names: Sequence[str]) -> None:
        try:
            self._obstore.delete(self._store, list(names))
            return
        except FileNotFoundError:
            pass
        except self._errors as error:
            raise self._error(names[0], error) from error
        # Some stores report an error for objects that do not exist, and then it is unknown which of
        # the others they deleted.
        missing = 0
        for name in names:
            try:
                self._obstore.delete(self._store, name)
            except FileNotFoundError:
                missing += 1
            except self._errors as error:
                raise self._error(name, error) from error
        if missing == len(names):
            # Perhaps the bucket itself is missing, so that nothing is known about the objects. A
            # listing finds out.
            for _ in self.list(names[0].rpartition("/")[0] + "/"):
                break

    def list(self, prefix: str) -> Iterator[StoredObject]:
        try:
            for chunk in self._obstore.list(self._store, prefix):
                for meta in chunk:
                    yield StoredObject(meta["path"], meta["size"])
        except self._errors as error:
            raise self._error(prefix, error) from error

    def close(self) -> None:
        pass

    def _error(self, name: str, error: Exception) -> RemoteStoreError:
        if isinstance(error, FileNotFoundError):
            return ObjectMissing(f"{name} is not in {self._url}")
        if _BEHIND_THE_END in str(error):
            return RemoteDataDamaged(f"{name} in {self._url} is shorter than it was")
        kind = StoreRefused if isinstance(error, self._refusals) else StoreUnavailable
        return kind(f"{name} in {self._url}: {_text(error)}")


class _Pieces:
    """An iterable that remembers the exception that was raised in it."""

    def __init__(self, pieces: Iterable[Buffer]) -> None:
        self._pieces = iter(pieces)
        self.failure: Exception | None = None

    def __iter__(self) -> _Pieces:
        return self

    def __next__(self) -> Buffer:
        try:
            return next(self._pieces)
        except StopIteration:
            raise
        except Exception as failure:
            self.failure = failure
            raise


def _sorted_options(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, Any]]:
    """The options for the store, and those for its HTTP client."""
    config = dict(options)
    client: dict[str, Any] = {}
    for name in ("connect_timeout", "timeout", "proxy_url", "user_agent"):
        if name in config:
            client[name] = config.pop(name)
    for name in ("allow_http", "allow_invalid_certificates"):
        if name in config:
            client[name] = config.pop(name).lower() == "true"
    endpoints = [config.get(name, "") for name in _ENDPOINTS] + [os.environ.get(name, "") for name in _ENDPOINT_VARIABLES]
    if any(endpoint.startswith("http://") for endpoint in endpoints):
        # A user who configures an address without TLS wants plain HTTP.
        client.setdefault("allow_http", True)
    return config, client


def _text(error: Exception) -> str:
    """The first line only: the package appends its inner causes and the full response of the
    store."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].partition(": <?xml")[0]
