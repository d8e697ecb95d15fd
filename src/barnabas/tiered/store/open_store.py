"""From ``remote.log.storage.url`` to a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

from barnabas.config.keys import ConfigError
from barnabas.env.disk import Disk
from barnabas.tiered.store.directory_store import DirectoryStore
from barnabas.tiered.store.object_store import ObjectStore
from barnabas.tiered.store.store import RemoteStore

OBJECT_SCHEMES: Final = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss")


def open_store(url: str, options: Mapping[str, str], disk: Disk) -> RemoteStore:
    """``s3://bucket/prefix``, ``gs://``, ``az://`` or ``file:///path``. ``options`` are those of
    ``remote.log.storage.config.``.

    Raises ``ConfigError`` with one sentence for an invalid URL or option, and when the package for
    object stores is not installed. Does not check whether the store can be reached.
    """
    parts = urlsplit(url)
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost") or not parts.path.startswith("/") or parts.path == "/":
            raise ConfigError(f"remote.log.storage.url is {url}, which is not file:/// with the full path of a directory.")
        if options:
            raise ConfigError(f"remote.log.storage.config.{min(options)} does not apply to the directory {url}.")
        return DirectoryStore(disk, unquote(parts.path))
    if parts.scheme in OBJECT_SCHEMES and parts.netloc:
        return ObjectStore(url, options)
    raise ConfigError(f"remote.log.storage.url is {url}, which is none of s3://bucket/prefix, gs://, az:// and file:///path.")
