"""Declaring messages: one class per message for all its versions.

    @request(key=19, versions="2-7", flexible="5+")
    class CreateTopicsRequest:
        topics: list[CreatableTopic] = field()
        timeout_ms: Int32 = field(default=60_000)
        validate_only: Bool = field("1+", default=False)

The decorators turn such a class into a plain object with slots and a keyword constructor, and
attach a :class:`Declaration` to it. Nothing is compiled here: :mod:`barnabas.wire.compiler` makes
encoders and decoders when a version is first used, because a node uses few of the 600 versions.

For mypy a field without a default is required, so that a response cannot contain a zero by
oversight. At run time every field has Kafka's default, since a decoder must fill the fields that
its version lacks.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, Union, dataclass_transform, get_args, get_origin

from barnabas.model.dataclass import dataclass
from barnabas.wire.types import Primitive
from barnabas.wire.versions import ALWAYS, NEVER, Versions, parse_versions

_T = TypeVar("_T")
_UNSET: Any = object()
HIDDEN = "[hidden]"  # stands for a secret in texts


@dataclass(frozen=True, slots=True)
class FieldOptions:
    """The arguments of ``field(...)``, before the field's own name and type are known."""

    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int | None
    default: Any
    ignorable: bool
    flexible: bool
    secret: bool
    encodable: bool


@dataclass(frozen=True, slots=True)
class ArrayOf:
    element: FieldType


@dataclass(frozen=True, slots=True)
class StructOf:
    cls: type[Any]


FieldType = Primitive | ArrayOf | StructOf


@dataclass(frozen=True, slots=True)
class Field:
    """One declared field.

    ``ignorable`` allows an encoder to drop a value that its version cannot carry; encoding any
    other non-default value in such a version is a programming error. ``flexible=False`` keeps the
    old string encoding in flexible versions, which exactly one field of the whole protocol does:
    the client id of the request header.
    """

    name: str
    type: FieldType
    options: FieldOptions

    def default(self) -> Any:
        """The value of a field that was never set. Each list is fresh. Structs are shared: messages
        are values, and no code changes a struct inside a message after building it.
        """
        if self.options.default is not _UNSET:
            return self.options.default
        match self.type:
            case Primitive(zero=zero):
                return zero
            case ArrayOf():
                return []
            case StructOf(cls):
                return default_struct(cls)


_default_structs: dict[type[Any], Any] = {}  # one per declared class


def default_struct(cls: type[Any]) -> Any:
    if cls not in _default_structs:
        _default_structs[cls] = cls()
    return _default_structs[cls]


@dataclass(frozen=True, slots=True)
class Declaration:
    """The facts about a message or a struct that the compiler and the conformance tests need."""

    name: str
    kind: str
    key: int | None
    versions: Versions
    flexible: Versions
    fields: tuple[Field, ...]


def field(
    versions: str = "0+",
    *,
    nullable: str | None = None,
    tag: int | None = None,
    tagged: str | None = None,
    default: Any = _UNSET,
    default_factory: Any = None,  # noqa: ARG001
    ignorable: bool = False,
    flexible: bool = True,
    secret: bool = False,
    encodable: bool = False,
) -> Any:
    """``default_factory`` only informs mypy: it marks an array or struct that may be left out. The
    value comes from the type, see :meth:`Field.default`. A ``secret`` value is in no text about the
    message. An ``encodable`` array of structs may hold
    :class:`~barnabas.wire.types.EncodedElements` instead of a list.
    """
    return FieldOptions(
        versions=parse_versions(versions),
        nullable=parse_versions(nullable),
        tagged=parse_versions(tagged),
        tag=tag,
        default=default,
        ignorable=ignorable,
        flexible=flexible,
        secret=secret,
        encodable=encodable,
    )


def _field_type(annotation: Any) -> FieldType:
    origin = get_origin(annotation)
    if origin is Annotated:
        primitive = annotation.__metadata__[0]
        assert isinstance(primitive, Primitive)
        return primitive
    if origin in (Union, types.UnionType):
        # Only ``X | None``. Which versions allow null is declared in the field.
        (inner,) = (each for each in get_args(annotation) if each is not types.NoneType)
        return _field_type(inner)
    if origin is list:
        return ArrayOf(_field_type(get_args(annotation)[0]))
    assert isinstance(annotation, type), f"{annotation!r} is not a wire type"
    return StructOf(annotation)


def declaration_of(cls: type[Any]) -> Declaration:
    declaration = cls.__declaration__
    assert isinstance(declaration, Declaration)
    return declaration


def field_values(message: Any) -> dict[str, Any]:
    return {each.name: getattr(message, each.name) for each in declaration_of(type(message)).fields}


def _equal(self: Any, other: Any) -> bool:
    return type(other) is type(self) and all(getattr(self, name) == getattr(other, name) for name in self.__slots__)


def _represent(self: Any) -> str:
    fields = declaration_of(type(self)).fields
    inside = ", ".join(f"{each.name}={HIDDEN if each.options.secret else repr(getattr(self, each.name))}" for each in fields)
    return f"{type(self).__name__}({inside})"


def _constructor(declaration: Declaration) -> Callable[..., None]:
    """``__init__`` as straight-line source, as a dataclass has it, but compiled only for classes
    whose constructor is called.
    """
    parameters, body, scope = [], [], {"_unset": _UNSET}
    for each in declaration.fields:
        name = each.name
        if not isinstance(each.type, ArrayOf) or each.options.default is not _UNSET:
            scope[f"_default_{name}"] = each.default()
            parameters.append(f"{name}=_default_{name}")
            body.append(f"    self.{name} = {name}")
        else:
            scope[f"_make_{name}"] = each.default
            parameters.append(f"{name}=_unset")
            body.append(f"    self.{name} = _make_{name}() if {name} is _unset else {name}")
    signature = ", ".join(["self", "*", *parameters]) if parameters else "self"
    source = "\n".join([f"def __init__({signature}):", *(body or ["    pass"])])
    exec(compile(source, f"<constructor of {declaration.name}>", "exec"), scope)  # noqa: S102
    made: Callable[..., None] = scope["__init__"]
    return made


def _declare(cls: type[_T], *, kind: str, key: int | None, versions: Versions, flexible: Versions) -> type[_T]:
    # Evaluated, because with `from __future__ import annotations` the annotations of a module are
    # strings here.
    annotations = inspect.get_annotations(cls, eval_str=True)
    fields = []
    for name, annotation in annotations.items():
        options = cls.__dict__[name]
        assert isinstance(options, FieldOptions), f"{cls.__name__}.{name} must be declared with field()"
        fields.append(Field(name, _field_type(annotation), options))
    declaration = Declaration(cls.__name__, kind, key, versions, flexible, tuple(fields))

    def initialise(self: Any, **values: Any) -> None:
        # The first construction replaces this function by compiled source; classes that are only
        # decoded skip the cost.
        type(self).__init__ = _constructor(declaration)
        self.__init__(**values)

    namespace = {name: value for name, value in cls.__dict__.items() if name not in annotations}
    namespace.pop("__dict__", None)
    namespace.pop("__weakref__", None)
    namespace |= {
        "__slots__": tuple(annotations),
        "__declaration__": declaration,
        "__init__": initialise,
        "__eq__": _equal,
        "__hash__": None,
        "__repr__": _represent,
    }
    rebuilt: type[_T] = type(cls.__name__, (), namespace)
    return rebuilt


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def struct(cls: type[_T]) -> type[_T]:
    """A part of a message. Its versions are those of the enclosing message."""
    return _declare(cls, kind="struct", key=None, versions=ALWAYS, flexible=NEVER)


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def message(kind: str, *, key: int | None, versions: str, flexible: str) -> Callable[[type[_T]], type[_T]]:
    """A message that is encoded on its own: a request, a response, a header or a log record."""

    def decorate(cls: type[_T]) -> type[_T]:
        return _declare(cls, kind=kind, key=key, versions=parse_versions(versions), flexible=parse_versions(flexible))

    return decorate


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def request(*, key: int, versions: str, flexible: str) -> Callable[[type[_T]], type[_T]]:
    return message("request", key=key, versions=versions, flexible=flexible)


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def response(*, key: int, versions: str, flexible: str) -> Callable[[type[_T]], type[_T]]:
    return message("response", key=key, versions=versions, flexible=flexible)


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def metadata_record(*, key: int, versions: str, flexible: str) -> Callable[[type[_T]], type[_T]]:
    return message("metadata", key=key, versions=versions, flexible=flexible)


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def coordinator_key(*, key: int, versions: str, flexible: str) -> Callable[[type[_T]], type[_T]]:
    return message("coordinator-key", key=key, versions=versions, flexible=flexible)


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def coordinator_value(*, key: int, versions: str, flexible: str) -> Callable[[type[_T]], type[_T]]:
    return message("coordinator-value", key=key, versions=versions, flexible=flexible)


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def data(*, versions: str, flexible: str) -> Callable[[type[_T]], type[_T]]:
    """A struct that is encoded inside opaque bytes of another message, such as a consumer's
    subscription.
    """
    return message("data", key=None, versions=versions, flexible=flexible)
