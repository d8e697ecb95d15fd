"""A remote store that is an object store: S3, Google Cloud Storage, Azure, through ``obstore``.

Retries are the package's, and bounded: an answer or an error comes within :data:`RETRY_SECONDS_MAX` and one request's time. Longer outages
are the business of whoever asked. Large objects go up as several parts, of which only a few are in memory; they are seen when the last one
has arrived. What a crash leaves of an upload nobody sees but who pays for it: a lifecycle rule of the bucket should abort those.
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
# Times the part size is what one copy holds in memory.
PARTS_AT_ONCE = 3
CONNECT_SECONDS_MAX = 5
# One request with its body: a part has arrived by then even over 300 KB/s.
REQUEST_SECONDS_MAX = 30
RETRIES_MAX = 3
RETRY_SECONDS_MAX = 20
_BACKOFF = {"init_backoff": timedelta(milliseconds=200), "max_backoff": timedelta(seconds=2), "base": 2}
_BEHIND_THE_END = "416 Range Not Satisfiable"
_ENDPOINTS = ("endpoint", "endpoint_url", "aws_endpoint", "aws_endpoint_url", "azure_storage_endpoint", "azure_endpoint", "base_url")
_ENDPOINT_VARIABLES = ("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")


class ObjectStore:
    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        """``ConfigError`` when URL or options cannot be; nothing is asked of the network yet."""
        try:
            import obstore
            from obstore import exceptions
            from obstore.store import from_url
        except ModuleNotFoundError:
            raise ConfigError(
                f"remote.log.storage.url is {url}, for which the package obstore is needed: pip install 'barnabas[tiered]'."
            ) from None
        config, client = _sorted_options(options)
        # The package declares one signature per kind of store, and which kind this is only the URL knows.
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
        except (exceptions.BaseError, ValueError, TypeError) as wrong:
            raise ConfigError(
                f"remote.log.storage.url {url} or its remote.log.storage.config options cannot be used: {_text(wrong)}"
            ) from wrong
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
                # Whoever gave the pieces knows what it means; the package would tell it in other words.
                raise pieces.failure from None
            if isinstance(error, FileNotFoundError):
                raise StoreRefused(f"{name} cannot be put into {self._url}: that bucket is not there") from error
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
        # Some stores mind what is not there, and then it is not known which of the others they deleted.
        missing = 0
        for name in names:
            try:
                self._obstore.delete(self._store, name)
            except FileNotFoundError:
                missing += 1
            except self._errors as error:
                raise self._error(name, error) from error
        if missing == len(names):
            # Perhaps it is the bucket that is missing, and with it the right to say that they are gone. A listing knows.
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
    """An iterable that remembers what went wrong in it."""

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
    """Those for the store, and those for its HTTP client."""
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
        # Who writes down an address without TLS wants none.
        client.setdefault("allow_http", True)
    return config, client


def _text(error: Exception) -> str:
    """One line: behind it the package draws its inner causes, and the store's answer in full."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].partition(": <?xml")[0]
