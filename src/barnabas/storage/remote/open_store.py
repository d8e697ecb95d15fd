"""From ``remote.log.storage.url`` to a store."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.env.disk import Disk
from barnabas.storage.remote.store import RemoteStore


def open_store(url: str, options: Mapping[str, str], disk: Disk) -> RemoteStore:
    """``s3://bucket/prefix``, ``gs://``, ``az://`` or ``file:///path``. ``options`` are those of ``remote.log.storage.config.``.

    ``ConfigError`` in one sentence for a URL or option that cannot be, and when the package for object stores is not installed. Says
    nothing about whether the store can be reached.
    """
    raise NotImplementedError
