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
# Failures that are remembered; one for each subject that a page asks for.
_SILENCES_MAX: Final = 200
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
        # By question: a subject that does not exist says nothing about the others.
        self._silent_until: dict[object, float] = {}
        self._silence: dict[object, str] = {}

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
        name = found.parsed.record_name or ""
        return SchemaValue(f"{found.type.value.lower()} schema {frame.schema}{f' {name}' if name else ''}", value), None

    def decode_payload(self, data: bytes | None, subject: str, message: str) -> tuple[SchemaValue | None, str | None]:
        """Bytes that name no schema, by the latest one of a subject: the value, or a sentence.
        ``message`` is the full name of a Protobuf message; the first of the schema if empty."""
        if not data:
            return None, None
        if self._url is None:
            return None, f"The latest schema of {subject} is not known: the cluster has no schema registry here."
        try:
            from barnabas.registry_client import RegistryError
            from barnabas.schemas.errors import DoesNotFit, InvalidSchema
        except ImportError:
            return None, NEEDS_EXTRA
        if time.monotonic() < self._silent_until.get(subject, 0.0):
            return None, self._silence[subject]
        try:
            latest = self.registry().latest(subject)
        except RegistryError as error:
            self._keep_silent(subject, f"The latest schema of {subject} is not available: {error}")
            return None, self._silence[subject]
        try:
            value, unknown = self._bare_value(latest, data, message)
        except (DoesNotFit, InvalidSchema) as error:
            return None, f"The bytes do not fit the latest schema of {subject}: {error}"
        name = message or latest.parsed.record_name or ""
        words = f"{latest.type.value.lower()} schema {latest.id}{f' {name}' if name else ''}, version {latest.version} of {subject}"
        remark = f"{unknown} fields of the bytes are not in this schema, so it may be the wrong one." if unknown else None
        return SchemaValue(words, value, remark), None

    def _bare_value(self, latest: RegisteredSchema, data: bytes, message: str) -> tuple[object, int]:
        """With the number of fields that the schema does not have, which only Protobuf tells."""
        if latest.type.value != "PROTOBUF":
            return self._codec((latest.id, latest.guid), latest).decode(data), 0
        from barnabas.schemas.protobuf.codec import ProtobufCodec

        codec = self._codec((latest.id, latest.guid, message), latest, message or None)
        assert isinstance(codec, ProtobufCodec)
        return codec.decode_bare(data)

    def _keep_silent(self, question: object, sentence: str) -> None:
        if len(self._silence) >= _SILENCES_MAX:
            self._silence.clear()
            self._silent_until.clear()
        self._silent_until[question], self._silence[question] = time.monotonic() + _RETRY_SECONDS, sentence

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

        if time.monotonic() < self._silent_until.get(None, 0.0):
            return self._silence[None]
        try:
            client = self.registry()
            return client.schema_by_id(schema) if isinstance(schema, int) else client.schema_by_guid(schema)
        except NotFound:
            return f"The registry has no schema {schema}."
        except RegistryError as error:
            self._keep_silent(None, str(error))
            return str(error)

    def _codec(self, schema: Any, registered: RegisteredSchema, message: str | None = None) -> Codec:
        from barnabas.schemas.codec import codec_of

        codec = self._codecs.get(schema)
        if codec is None:
            if len(self._codecs) >= _CODECS_MAX:
                self._codecs.clear()
            codec = self._codecs[schema] = codec_of(registered.parsed, message=message)
        return codec

    def registry(self) -> RegistryClient:
        """Its client; requests block."""
        from barnabas.registry_client import RegistryClient

        if self._client is None:
            assert self._url is not None
            timeouts = {"http.connect.timeout.ms": 2_000, "timeout": _ANSWER_SECONDS}
            self._client = RegistryClient({"url": self._url, **timeouts, **self._credentials})
        return self._client
