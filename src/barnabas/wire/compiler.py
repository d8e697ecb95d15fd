"""From a declaration to code: ``(message, version)`` becomes one function of straight-line Python.

The compiler writes source instead of composing closures, because a closure per field costs a call
per field in every request. Compiled source reads a run of fixed-width fields with one ``struct``
call, together with the length that follows it, and is 1.7 times faster. The source stays in
:mod:`linecache`, so a debugger can step into it and a traceback shows it.

Every decoder keeps these rules:

- it allocates nothing from a length before it has compared that length with the bytes that remain
  (an array's length with the smallest size its elements can have);
- a request has at most :data:`REQUEST_ELEMENTS_MAX` array elements in all, because one byte of an
  array becomes a hundred bytes of objects. Tagged fields count as elements, and some requests have
  a lower limit;
- it reads only inside the buffer, and a frame has a buffer of its own;
- it skips unknown tagged fields, and known ones must fill exactly the size they announce.

Decoders raise :data:`DECODE_ERRORS`; :func:`decode` and ``api/dispatch`` turn those into
:class:`MalformedMessage`.
"""

from __future__ import annotations

import linecache
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, TypeVar

from barnabas.model.buffers import Buffer
from barnabas.wire.apis import ApiKey
from barnabas.wire.declare import ArrayOf, Declaration, Field, FieldType, StructOf, declaration_of
from barnabas.wire.tagged_fields import MalformedMessage, read_tag, read_tag_count, skip_tagged_fields
from barnabas.wire.types import EncodedElements, Primitive, RecordsSource
from barnabas.wire.varint import read_uvarint, write_uvarint
from barnabas.wire.versions import NEVER

_T = TypeVar("_T")
Decoder = Callable[[Buffer, int], tuple[Any, int]]
Encoder = Callable[[Any, bytearray], None]

STRING_BYTES_MAX = 0x7FFF  # Kafka's own bound, although a compact length could be larger
# Several times the partitions that a cluster can have. Only requests are bounded: the response to a
# request of ours may be longer.
REQUEST_ELEMENTS_MAX = 1_000_000
# Requests that are served in one turn of the loop whatever their length. Fetch has an element for
# each topic and each partition, so a follower may fetch 125,000 topics with one partition from one
# leader; an element takes about 7 microseconds. A deleted topic takes about 4.
_ELEMENTS_MAX_BY_KEY = {ApiKey.FETCH: 250_000, ApiKey.DELETE_TOPICS: 50_000}


class FieldNotInVersion(ValueError):
    """A message has a value that the version being encoded cannot carry and must not drop."""


class StringTooLong(ValueError):
    """A string that Kafka's readers would refuse. Old-style strings need no check: their length
    field cannot hold more.
    """


DECODE_ERRORS = (MalformedMessage, struct.error, IndexError, UnicodeDecodeError, ValueError)


def decode(cls: type[_T], version: int, buffer: Buffer, position: int = 0) -> tuple[_T, int]:
    """The message at ``position`` and the position after it."""
    try:
        return decoder(cls, version)(buffer, position)
    except DECODE_ERRORS as error:
        raise MalformedMessage(f"{cls.__name__} v{version}: {error}") from error


def encode(message: Any, version: int) -> bytes:
    out = bytearray()
    encoder(type(message), version)(message, out)
    return bytes(out)


# The protocol bounds the cache: 600 versions, of which a node uses a few dozen.
_decoders: dict[tuple[type[Any], int], Decoder] = {}
_encoders: dict[tuple[type[Any], int], Encoder] = {}
_part_encoders: dict[tuple[type[Any], type[Any], int], Encoder] = {}


def decoder(cls: type[Any], version: int) -> Decoder:
    made = _decoders.get((cls, version))
    if made is None:
        declaration = declaration_of(cls)
        _check_version(declaration, version)
        bounded = declaration.kind == "request"
        elements_max = _ELEMENTS_MAX_BY_KEY.get(declaration.key, REQUEST_ELEMENTS_MAX) if bounded else None  # type: ignore[call-overload]
        source = _DecoderSource(flexible=version in declaration.flexible, version=version, elements_max=elements_max)
        with source.function("decode", "buf, pos"):
            source.line("end = len(buf)")
            source.begin_counting()
            source.struct("o", cls)
            source.line("return o, pos")
        made = _decoders[cls, version] = source.compile("decode", f"{declaration.name} v{version}")
    return made


def encoder(cls: type[Any], version: int) -> Encoder:
    made = _encoders.get((cls, version))
    if made is None:
        declaration = declaration_of(cls)
        _check_version(declaration, version)
        source = _EncoderSource(flexible=version in declaration.flexible, version=version)
        with source.function("encode", "o, out"):
            source.struct("o", cls)
            source.line("return None")
        made = _encoders[cls, version] = source.compile("encode", f"{declaration.name} v{version}")
    return made


def part_encoder(message: type[Any], part: type[Any], version: int) -> Encoder:
    """Encodes a struct as ``message`` contains it, for
    :class:`~barnabas.wire.types.EncodedElements`.
    """
    made = _part_encoders.get((message, part, version))
    if made is None:
        declaration = declaration_of(message)
        _check_version(declaration, version)
        source = _EncoderSource(flexible=version in declaration.flexible, version=version)
        with source.function("encode", "o, out"):
            source.struct("o", part)
            source.line("return None")
        title = f"{declaration_of(part).name} of {declaration.name} v{version}"
        made = _part_encoders[message, part, version] = source.compile("encode", title)
    return made


def _check_version(declaration: Declaration, version: int) -> None:
    if version not in declaration.versions:
        raise FieldNotInVersion(f"{declaration.name} has versions {declaration.versions}, not {version}")


def _malformed(field: str, length: int, remaining: int) -> MalformedMessage:
    if length < 0:
        return MalformedMessage(f"{field} is null or has negative length {length}")
    return MalformedMessage(f"{field} announces {length} where {remaining} bytes remain")


def smallest_size(kind: FieldType, *, version: int, flexible: bool, nullable: bool) -> int:
    """The fewest bytes that a value of this type can take. The length of an array is checked
    against it.
    """
    match kind:
        case Primitive(code=str(), size=size):
            return size
        case Primitive(name="string"):
            return 1 if flexible else 2
        case Primitive() | ArrayOf():
            return 1 if flexible else 4
        case StructOf(cls):
            if nullable:
                return 1
            fields = declaration_of(cls).fields
            total = sum(
                smallest_size(each.type, version=version, flexible=flexible, nullable=version in each.options.nullable)
                for each in fields
                if version in each.options.versions and version not in each.options.tagged
            )
            # An element of zero bytes would leave its count unbounded. Kafka has none, and none may
            # be added.
            return max(1, total + (1 if flexible else 0))


class _Source:
    """The lines of a module under construction, with the constants they use."""

    def __init__(self, *, flexible: bool, version: int) -> None:
        self.flexible = flexible
        self.version = version
        self.lines: list[str] = []
        self.depth = 0
        self.fresh = count()
        self.scope: dict[str, Any] = {
            "uvarint": read_uvarint,
            "write_uvarint": write_uvarint,
            "malformed": _malformed,
            "read_tag": read_tag,
            "read_tag_count": read_tag_count,
            "skip_tagged_fields": skip_tagged_fields,
            "MalformedMessage": MalformedMessage,
            "FieldNotInVersion": FieldNotInVersion,
            "StringTooLong": StringTooLong,
            "RecordsSource": RecordsSource,
            "EncodedElements": EncodedElements,
            "unpack_from": struct.unpack_from,
            "pack": struct.pack,
            "new": object.__new__,
        }
        # Functions for tagged fields, emitted after the function that calls them is complete.
        self.deferred: list[Callable[[], None]] = []

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self.depth += 1
        yield
        self.depth -= 1

    @contextmanager
    def function(self, name: str, parameters: str) -> Iterator[None]:
        with self.block(f"def {name}({parameters}):"):
            yield
        while self.deferred:
            self.deferred.pop()()

    def constant(self, prefix: str, value: Any) -> str:
        """An expression for ``value``: a literal if there is one, else a name in the module's
        scope.
        """
        if value is None or isinstance(value, bool | int | str | bytes | float):
            return repr(value)
        for name, known in self.scope.items():
            if known is value:
                return name
        name = f"{prefix}_{next(self.fresh)}"
        self.scope[name] = value
        return name

    def layout(self, verb: str, codes: str) -> str:
        """The name of ``Struct(codes).unpack_from`` or ``.pack``, shared by all runs of the same
        shape.
        """
        name = f"{verb}_{codes.replace('?', 't')}"
        if name not in self.scope:
            self.scope[name] = getattr(struct.Struct(">" + codes), verb)
        return name

    def compile(self, name: str, title: str) -> Any:
        text = "\n".join(self.lines) + "\n"
        filename = f"<wire {name} {title}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        exec(compile(text, filename, "exec"), self.scope)  # noqa: S102
        return self.scope[name]

    def parts(self, cls: type[Any]) -> tuple[list[Field], list[Field], list[Field]]:
        """The fields of ``cls`` in this version: in order, tagged, and absent."""
        plain, tagged, absent = [], [], []
        for each in declaration_of(cls).fields:
            if self.version not in each.options.versions:
                absent.append(each)
            elif self.tagged(each):
                tagged.append(each)
            else:
                plain.append(each)
        return plain, tagged, absent

    def nullable(self, each: Field) -> bool:
        return self.version in each.options.nullable

    def tagged(self, each: Field) -> bool:
        """Also decides how a struct encodes null: as -1 in place, but as 0 in the tagged
        section.
        """
        return self.version in each.options.tagged

    def length_code(self, kind: FieldType, *, compact: bool) -> str:
        """The struct letter of the length before a variable-width value; for a compact one, of its
        first byte.
        """
        if compact:
            return "B"
        return "h" if isinstance(kind, Primitive) and kind.name == "string" else "i"


class _DecoderSource(_Source):
    def __init__(self, *, flexible: bool, version: int, elements_max: int | None) -> None:
        super().__init__(flexible=flexible, version=version)
        self.elements_max = elements_max

    def begin_counting(self) -> None:
        if self.elements_max is not None:
            self.line(f"room = {self.elements_max}")

    def count_elements(self, count: str) -> None:
        if self.elements_max is not None:
            self.line(f"room -= {count}")
            with self.block("if room < 0:"):
                self.line(f"raise MalformedMessage('more than {self.elements_max} elements in one request')")

    def struct(self, target: str, cls: type[Any]) -> None:
        self.line(f"{target} = new({self.constant(cls.__name__, cls)})")
        plain, tagged, absent = self.parts(cls)
        for each in absent + tagged:
            self.default(f"{target}.{each.name}", each)
        # (target, struct letter) of fixed-width reads not yet emitted
        run: list[tuple[str, str]] = []
        for each in plain:
            self.field(f"{target}.{each.name}", each, run)
        if self.flexible:
            tag_count = f"n{next(self.fresh)}"
            run.append((tag_count, "B"))
            self.flush(run)
            with self.block(f"if {tag_count}:"):
                # The first byte is the whole count, since more than TAGS_MAX are refused.
                self.count_elements(tag_count)
                known = f", {target}" if tagged else ""
                self.line(f"pos = {self.tags(tagged)}(buf, pos - 1, end{known})")
        else:
            self.flush(run)

    def default(self, target: str, each: Field) -> None:
        default = each.default()
        self.line(f"{target} = {'[]' if isinstance(default, list) else self.constant('default', default)}")

    def flush(self, run: list[tuple[str, str]]) -> None:
        if not run:
            return
        codes = "".join(code for _, code in run)
        targets = ", ".join(target for target, _ in run)
        if codes == "B":
            self.line(f"{targets} = buf[pos]; pos += 1")
            run.clear()
            return
        self.line(f"{targets}, = {self.layout('unpack_from', codes)}(buf, pos); pos += {struct.calcsize('>' + codes)}")
        run.clear()

    def field(self, target: str, each: Field, run: list[tuple[str, str]]) -> None:
        kind = each.type
        if isinstance(kind, Primitive) and kind.code is not None:
            run.append((target, kind.code))
            return
        if isinstance(kind, StructOf):
            if self.nullable(each):
                present = f"n{next(self.fresh)}"
                run.append((present, "b"))
                self.flush(run)
                with self.block(f"if {present} {'<=' if self.tagged(each) else '<'} 0:"):
                    self.line(f"{target} = None")
                with self.block("else:"):
                    self.nested(target, kind.cls)
            else:
                self.flush(run)
                self.nested(target, kind.cls)
            return
        compact = self.flexible and each.options.flexible
        length = f"n{next(self.fresh)}"
        run.append((length, self.length_code(kind, compact=compact)))
        self.flush(run)
        self.variable(target, each.name, kind, length, compact=compact, nullable=self.nullable(each))

    def nested(self, target: str, cls: type[Any]) -> None:
        inner = f"o{next(self.fresh)}"
        self.struct(inner, cls)
        self.line(f"{target} = {inner}")

    def variable(self, target: str, name: str, kind: FieldType, length: str, *, compact: bool, nullable: bool) -> None:
        """Read the body of a string, bytes, records or array whose length prefix is already in
        ``length``.
        """
        if compact:
            with self.block(f"if {length} > 127:"):
                self.line(f"{length}, pos = uvarint(buf, pos - 1)")
            self.line(f"{length} -= 1")
        with self.block(f"if {length} < 0:"):
            if nullable:
                self.line(f"{target} = None")
            else:
                self.line(f"raise malformed({name!r}, {length}, end - pos)")
        with self.block("else:"):
            if isinstance(kind, ArrayOf):
                self.array(target, name, kind.element, length)
                return
            assert isinstance(kind, Primitive)
            bound = f" or {length} > {STRING_BYTES_MAX}" if kind.name == "string" and compact else ""
            self.line(f"stop = pos + {length}")
            with self.block(f"if stop > end{bound}:"):
                self.line(f"raise malformed({name!r}, {length}, end - pos)")
            match kind.name:
                case "string":
                    self.line(f"{target} = str(buf[pos:stop], 'utf-8')")
                case "bytes":
                    self.line(f"{target} = bytes(buf[pos:stop])")
                case "records":
                    self.line(f"{target} = buf[pos:stop]")
            self.line("pos = stop")

    def array(self, target: str, name: str, element: FieldType, length: str) -> None:
        smallest = smallest_size(element, version=self.version, flexible=self.flexible, nullable=False)
        with self.block(f"if {length} * {smallest} > end - pos:"):
            self.line(f"raise malformed({name!r}, {length}, end - pos)")
        self.count_elements(length)
        if isinstance(element, Primitive) and element.code is not None:
            if element.code == "16s":
                self.line(f"{target} = [bytes(buf[i:i + 16]) for i in range(pos, pos + 16 * {length}, 16)]")
            else:
                self.line(f"{target} = list(unpack_from(f'>{{{length}}}{element.code}', buf, pos))")
            self.line(f"pos += {length} * {element.size}")
            return
        items, item = f"l{next(self.fresh)}", f"o{next(self.fresh)}"
        self.line(f"{target} = {items} = []")
        with self.block(f"for _ in range({length}):"):
            if isinstance(element, StructOf):
                self.struct(item, element.cls)
            else:
                run = [(f"n{next(self.fresh)}", self.length_code(element, compact=self.flexible))]
                inner_length = run[0][0]
                self.flush(run)
                self.variable(item, name, element, inner_length, compact=self.flexible, nullable=False)
            self.line(f"{items}.append({item})")

    def tags(self, tagged: list[Field]) -> str:
        """A function that reads the tagged section. It is called only when there is one, which is
        rare.
        """
        if not tagged:
            return "skip_tagged_fields"
        name = f"tags_{next(self.fresh)}"

        def write() -> None:
            with self.block(f"def {name}(buf, pos, end, o):"):
                self.begin_counting()
                self.line("count, pos = read_tag_count(buf, pos, end)")
                with self.block("for _ in range(count):"):
                    self.line("tag, pos, after = read_tag(buf, pos, end)")
                    for each in tagged:
                        with self.block(f"if tag == {each.options.tag}:"):
                            run: list[tuple[str, str]] = []
                            self.field(f"o.{each.name}", each, run)
                            self.flush(run)
                            with self.block("if pos != after:"):
                                self.line(f"raise MalformedMessage('tagged {each.name} does not fill its size')")
                            self.line("continue")
                    self.line("pos = after")
                self.line("return pos")

        self.deferred.append(write)
        return name


class _EncoderSource(_Source):
    def struct(self, source: str, cls: type[Any], out: str = "out") -> None:
        plain, tagged, absent = self.parts(cls)
        for each in absent:
            if not each.options.ignorable:
                self.refuse_value(f"{source}.{each.name}", cls, each)
        # (expression, struct letter) of fixed-width writes not yet emitted
        run: list[tuple[str, str]] = []
        for each in plain:
            self.field(f"{source}.{each.name}", each, run, out)
        if self.flexible and not tagged:
            run.append(("", "x"))
        self.flush(run, out)
        if self.flexible and tagged:
            self.tags(source, tagged, out)

    def refuse_value(self, source: str, cls: type[Any], each: Field) -> None:
        with self.block(f"if {self.differs(source, each)}:"):
            text = f"{declaration_of(cls).name}.{each.name} cannot be sent in version {self.version}"
            self.line(f"raise FieldNotInVersion({text!r})")

    def differs(self, value: str, each: Field) -> str:
        """A condition: the field does not hold its default."""
        default = each.default()
        if default is None:
            return f"{value} is not None"
        if isinstance(default, list):
            return value if each.options.nullable == NEVER else f"{value} or {value} is None"
        name = self.constant("default", default)
        if isinstance(default, bool | int | str | bytes | float):
            return f"{value} != {name}"
        # Default structs are shared, so identity settles nearly every case without comparing
        # fields.
        return f"{value} is not {name} and {value} != {name}"

    def flush(self, run: list[tuple[str, str]], out: str) -> None:
        if not run:
            return
        codes = "".join(code for _, code in run)
        values = ", ".join(value for value, _ in run if value)
        if codes == "x":
            self.line(f"{out}.append(0)")
        elif codes == "B":
            self.line(f"{out}.append({values})")
        else:
            self.line(f"{out} += {self.layout('pack', codes)}({values})")
        run.clear()

    def field(self, source: str, each: Field, run: list[tuple[str, str]], out: str) -> None:
        kind = each.type
        if isinstance(kind, Primitive) and kind.code is not None:
            run.append((source, kind.code))
        elif isinstance(kind, StructOf):
            if self.nullable(each):
                value = f"v{next(self.fresh)}"
                self.line(f"{value} = {source}")
                run.append((f"{0 if self.tagged(each) else -1} if {value} is None else 1", "b"))
                self.flush(run, out)
                with self.block(f"if {value} is not None:"):
                    self.struct(value, kind.cls, out)
            else:
                self.flush(run, out)
                value = f"v{next(self.fresh)}"
                self.line(f"{value} = {source}")
                self.struct(value, kind.cls, out)
        else:
            compact = self.flexible and each.options.flexible
            self.variable(source, kind, run, out, compact=compact, nullable=self.nullable(each), encodable=each.options.encodable)

    def variable(
        self,
        source: str,
        kind: FieldType,
        run: list[tuple[str, str]],
        out: str,
        *,
        compact: bool,
        nullable: bool,
        encodable: bool = False,
    ) -> None:
        value, length = f"v{next(self.fresh)}", f"n{next(self.fresh)}"
        encoded = ".encode()" if isinstance(kind, Primitive) and kind.name == "string" else ""
        if nullable:
            self.line(f"{value} = {source}")
            with self.block(f"if {value} is None:"):
                self.line(f"{length} = {0 if compact else -1}")
            with self.block("else:"):
                if encoded:
                    self.line(f"{value} = {value}{encoded}")
                self.line(f"{length} = len({value}){' + 1' if compact else ''}")
        else:
            self.line(f"{value} = {source}{encoded}; {length} = len({value}){' + 1' if compact else ''}")
        if compact:
            self.flush(run, out)
            with self.block(f"if {length} < 128:"):
                self.line(f"{out}.append({length})")
            with self.block("else:"):
                if encoded:
                    with self.block(f"if {length} > {STRING_BYTES_MAX + 1}:"):
                        self.line(f"raise StringTooLong(f'{source} has {{{length} - 1}} bytes where {STRING_BYTES_MAX} are allowed')")
                self.line(f"write_uvarint({out}, {length})")
        else:
            run.append((length, self.length_code(kind, compact=False)))
            self.flush(run, out)
        with self.block(f"if {length} > {1 if compact else 0}:"):
            if isinstance(kind, ArrayOf) and encodable:
                with self.block(f"if type({value}) is EncodedElements:"):
                    self.line(f"{out} += {value}.data")
                with self.block("else:"):
                    self.array(value, kind.element, out)
            elif isinstance(kind, ArrayOf):
                self.array(value, kind.element, out)
            elif isinstance(kind, Primitive) and kind.name == "records":
                with self.block(f"if isinstance({value}, RecordsSource):"):
                    self.line(f"{out}.cut({value})")
                with self.block("else:"):
                    self.line(f"{out} += {value}")
            else:
                self.line(f"{out} += {value}")

    def array(self, value: str, element: FieldType, out: str) -> None:
        if isinstance(element, Primitive) and element.code is not None:
            if element.code == "16s":
                self.line(f"{out} += b''.join({value})")
            else:
                self.line(f"{out} += pack(f'>{{len({value})}}{element.code}', *{value})")
            return
        item = f"o{next(self.fresh)}"
        with self.block(f"for {item} in {value}:"):
            if isinstance(element, StructOf):
                self.struct(item, element.cls, out)
            else:
                self.variable(item, element, [], out, compact=self.flexible, nullable=False)

    def tags(self, source: str, tagged: list[Field], out: str) -> None:
        """Tagged fields that hold their default are omitted, which is the purpose of tagging
        them.
        """
        tag_count, section, piece = (f"{name}{next(self.fresh)}" for name in ("n", "section", "piece"))
        self.line(f"{tag_count} = 0; {section} = bytearray()")
        for each in sorted(tagged, key=lambda each: each.options.tag or 0):
            value = f"{source}.{each.name}"
            with self.block(f"if {self.differs(value, each)}:"):
                self.line(f"{tag_count} += 1; {piece} = bytearray()")
                run: list[tuple[str, str]] = []
                self.field(value, each, run, piece)
                self.flush(run, piece)
                self.line(f"write_uvarint({section}, {each.options.tag}); write_uvarint({section}, len({piece}))")
                self.line(f"{section} += {piece}")
        self.line(f"write_uvarint({out}, {tag_count}); {out} += {section}")
