"""Values with a schema of the registry: decoded for people, and encoded for producing.

A registry that cannot be reached is left alone for a while, so that a page of fifty records does
not wait fifty times. All functions block, and run on threads of the console.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from barnabas.console.core.decoding.detection import SchemaValue
from barnabas.console.errors import BadValue

if TYPE_CHECKING:
    from barnabas.registry_client import RegisteredSchema, RegistryClient
    from barnabas.schemas.codec import Codec

_RETRY_SECONDS: Final = 15.0
_ANSWER_SECONDS: Final = 5.0
# Codecs that are kept; each is a parsed schema.
_CODECS_MAX: Final = 1_000
NEEDS_EXTRA: Final = "Values with a schema need more packages: pip install 'barnabas[registry]'."
# The shortest framed value has a magic byte and an id.
_FRAMED_BYTES_MIN: Final = 5


class SchemaDecoding:
    """The registry of one cluster; without a URL, framed values have no schema."""

    def __init__(self, url: str | None, credentials: Mapping[str, str] | None = None) -> None:
        """``credentials`` are settings of the registry's client."""
        self._url = url
        self._credentials = dict(credentials or {})
        self._client: RegistryClient | None = None
        self._codecs: dict[Any, Codec] = {}
        self._silent_until = 0.0
        self._silence = ""

    @property
    def has_registry(self) -> bool:
        return self._url is not None

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def decode(self, data: bytes | None, header: bytes | None) -> tuple[SchemaValue | None, str | None]:
        """The value, or a sentence about framed bytes that are not decoded; neither for bytes that
        are not framed. ``header`` is the one that names the schema."""
        if self._url is None or data is None or (header is None and (len(data) < _FRAMED_BYTES_MIN or data[0] > 1)):
            return None, None
        try:
            from barnabas.schemas.errors import DoesNotFit, InvalidSchema, NotFramed
            from barnabas.schemas.framing import read_either
        except ImportError:
            return None, NEEDS_EXTRA
        try:
            frame = read_either(data, header)
        except NotFramed:
            return None, None
        found = self._registered(frame.schema)
        if isinstance(found, str):
            return None, found
        try:
            value = self._codec(frame.schema, found).decode(frame.payload)
        except (DoesNotFit, InvalidSchema) as error:
            return None, f"The value does not fit its schema {frame.schema}: {error}"
        name = getattr(found.parsed, "name", None) or ""
        return SchemaValue(f"{found.type.value.lower()} schema {frame.schema}{f' {name}' if name else ''}", value), None

    def encode(self, subject: str, value: Any) -> bytes:
        """The value with the latest schema of a subject, framed. Raises :class:`BadValue`."""
        if self._url is None:
            raise BadValue("The cluster has no schema registry here.")
        try:
            from barnabas.registry_client import RegistryError
            from barnabas.schemas.errors import DoesNotFit, InvalidSchema
            from barnabas.schemas.framing import write_frame
        except ImportError:
            raise BadValue(NEEDS_EXTRA) from None
        try:
            latest = self.registry().latest(subject)
            if latest.id is None:
                raise BadValue(f"The registry does not tell the id of the latest schema of {subject}.")
            return write_frame(latest.id, self._codec(latest.id, latest).encode(value))
        except RegistryError as error:
            raise BadValue(f"The registry refuses: {error}") from error
        except (DoesNotFit, InvalidSchema) as error:
            raise BadValue(f"The value does not fit the latest schema of {subject}: {error}") from error

    def _registered(self, schema: Any) -> RegisteredSchema | str:
        from barnabas.registry_client import NotFound, RegistryError

        if time.monotonic() < self._silent_until:
            return self._silence
        try:
            client = self.registry()
            return client.schema_by_id(schema) if isinstance(schema, int) else client.schema_by_guid(schema)
        except NotFound:
            return f"The registry has no schema {schema}."
        except RegistryError as error:
            self._silent_until, self._silence = time.monotonic() + _RETRY_SECONDS, str(error)
            return self._silence

    def _codec(self, schema: Any, registered: RegisteredSchema) -> Codec:
        from barnabas.schemas.codec import codec_of

        codec = self._codecs.get(schema)
        if codec is None:
            if len(self._codecs) >= _CODECS_MAX:
                self._codecs.clear()
            codec = self._codecs[schema] = codec_of(registered.parsed)
        return codec

    def registry(self) -> RegistryClient:
        """Its client; requests block."""
        from barnabas.registry_client import RegistryClient

        if self._client is None:
            assert self._url is not None
            timeouts = {"http.connect.timeout.ms": 2_000, "timeout": _ANSWER_SECONDS}
            self._client = RegistryClient({"url": self._url, **timeouts, **self._credentials})
        return self._client
