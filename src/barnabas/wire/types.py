"""The primitive types of Kafka's protocol, as annotations that both mypy and the compiler read.

They are CapWords so that a field called ``records`` or ``bytes`` cannot shadow the type it is
declared with. A field is declared ``name: String``, ``isr: list[Int32]`` or ``error_message: String
| None``. ``field(nullable=...)`` declares which *versions* allow null, since Kafka often allowed it
later than it added the field.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from barnabas.model.dataclass import dataclass
from barnabas.model.ids import ZERO_UUID, Uuid as UuidBytes


@dataclass(frozen=True, slots=True)
class Primitive:
    """The layout of one primitive: ``code`` is its letter for :mod:`struct`, or None when its width
    varies.
    """

    name: str
    code: str | None
    size: int
    zero: object


class RecordsSource:
    """Record batches in a file: the length is known now, the bytes are read when they are sent.

    An encoder writes the length of such a source and leaves a cut in the frame; see
    :class:`~barnabas.wire.frames.OutFrame`.
    """

    __slots__ = ("position",)

    position: int  # of its first byte in its file

    def __len__(self) -> int:
        raise NotImplementedError

    def descriptor(self) -> int:
        """Of the open file, for ``sendfile``; valid until :meth:`release`."""
        raise NotImplementedError

    def read(self) -> bytes:
        """All bytes, for transports that cannot ``sendfile``."""
        raise NotImplementedError

    def release(self) -> None:
        """Called after the region was sent, or when it will not be sent."""
        raise NotImplementedError


class RecordsInMemory(RecordsSource):
    """Record batches in a buffer of their own, which are sent from there and never copied into the
    frame.
    """

    __slots__ = ("view",)

    def __init__(self, records: bytes | memoryview) -> None:
        self.view = memoryview(records)
        self.position = 0

    def __len__(self) -> int:
        return len(self.view)

    def read(self) -> bytes:
        return bytes(self.view)

    def release(self) -> None:
        pass


class EncodedElements:
    """The elements of an array of structs, encoded already for the version of their message.

    Only a field declared with ``encodable=True`` may hold it. ``error_codes`` are those of the
    elements that are not NONE, since they cannot be found in bytes.
    """

    __slots__ = ("count", "data", "error_codes")

    def __init__(self, count: int, data: bytes | bytearray, error_codes: Sequence[int] = ()) -> None:
        self.count = count
        self.data = data
        self.error_codes = error_codes

    def __len__(self) -> int:
        return self.count


Bool: TypeAlias = Annotated[bool, Primitive("bool", "?", 1, False)]
Int8: TypeAlias = Annotated[int, Primitive("int8", "b", 1, 0)]
Int16: TypeAlias = Annotated[int, Primitive("int16", "h", 2, 0)]
Uint16: TypeAlias = Annotated[int, Primitive("uint16", "H", 2, 0)]
Int32: TypeAlias = Annotated[int, Primitive("int32", "i", 4, 0)]
Uint32: TypeAlias = Annotated[int, Primitive("uint32", "I", 4, 0)]
Int64: TypeAlias = Annotated[int, Primitive("int64", "q", 8, 0)]
Float64: TypeAlias = Annotated[float, Primitive("float64", "d", 8, 0.0)]
Uuid: TypeAlias = Annotated[UuidBytes, Primitive("uuid", "16s", 16, ZERO_UUID)]
String: TypeAlias = Annotated[str, Primitive("string", None, 0, "")]
Bytes: TypeAlias = Annotated[bytes, Primitive("bytes", None, 0, b"")]
# Decoded as a view into the frame, never copied; encoded from anything with a length.
Records: TypeAlias = Annotated[bytes | bytearray | memoryview | RecordsSource, Primitive("records", None, 0, b"")]
