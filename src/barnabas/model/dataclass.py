"""``dataclass`` of the standard library, with methods that are compiled when they are first called.

The standard decorator writes source for six methods of a frozen class and compiles each at once,
which takes most of a millisecond. A broker declares about two hundred such classes before it can
answer a request, constructs half of them by then, and compares or hashes almost none. So a class
gets short methods here that compile the real one, put it in their own place and call it. The
compiled source is as straight as that of the standard library, so later calls are as fast.

For type checkers this *is* the standard decorator, and :func:`dataclasses.fields`, ``replace``,
``asdict`` and :mod:`pickle` work as with a standard one. Only what this code base has a hundred
times is done late: a class with slots and without bases or pseudo-fields. The standard decorator
gets every other class.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar

_T = TypeVar("_T")
# The beginnings of annotations that do not declare a field.
_PSEUDO_FIELDS = ("ClassVar", "InitVar", "KW_ONLY", "typing.", "dataclasses.")
_FACTORY: Any = object()  # the argument that was not given, where a factory makes the value


def _late_dataclass(
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,  # noqa: A002
    order: bool = False,
) -> Callable[[type[_T]], type[_T]]:
    def decorate(cls: type[_T]) -> type[_T]:
        if not slots or order or cls.__bases__ != (object,) or not _has_only_fields(cls):
            return dataclasses.dataclass(frozen=frozen, slots=slots, eq=eq, repr=repr, order=order)(cls)
        return _with_late_methods(cls, frozen=frozen, comparable=eq, shown=repr)

    return decorate


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _late_dataclass


def _has_only_fields(cls: type[Any]) -> bool:
    return all(isinstance(each, str) and not each.startswith(_PSEUDO_FIELDS) for each in cls.__annotations__.values())


def _with_late_methods(cls: type[_T], *, frozen: bool, comparable: bool, shown: bool) -> type[_T]:
    # The methods below must not refer to the first class, because it would then stay in memory
    # beside the second.
    title, annotations, given = cls.__name__, cls.__annotations__, dict(cls.__dict__)
    # Descriptors of the first class, which the one with slots does not have.
    for name in ("__dict__", "__weakref__"):
        given.pop(name, None)
    declared = {name: given.pop(name, MISSING) for name in annotations}
    for name, value in declared.items():
        # All instances share a default, so the standard decorator refuses a list as well.
        assert type(value).__hash__ is not None, f"{title}.{name} needs a default_factory"

    def construct(self: Any, *values: Any, **named: Any) -> None:
        made = rebuilt.__init__ = _constructor(rebuilt, declared, frozen=frozen)
        made(self, *values, **named)

    def equal(self: Any, other: Any) -> Any:
        made = rebuilt.__eq__ = _equality(declared)
        return made(self, other)

    def hashed(self: Any) -> Any:
        made = rebuilt.__hash__ = _hash(declared)
        return made(self)

    @recursive_repr()
    def represent(self: Any) -> str:
        parts = [f"{name}={getattr(self, name)!r}" for name, options in _fields(declared) if options.repr]
        return f"{type(self).__qualname__}({', '.join(parts)})"

    def describe(attribute: str) -> Any:
        defaults = {name: value for name, value in declared.items() if value is not MISSING}
        names = {"__annotations__": annotations, "__module__": rebuilt.__module__, "__doc__": title}
        options = {"frozen": frozen, "eq": comparable, "repr": shown}
        described: Any = dataclasses.dataclass(**options)(type(title, (), {**defaults, **names}))
        rebuilt.__dataclass_fields__ = described.__dataclass_fields__
        rebuilt.__dataclass_params__ = described.__dataclass_params__
        return getattr(described, attribute)

    namespace: dict[str, Any] = {
        "__init__": construct,
        "__match_args__": tuple(name for name, value in declared.items() if not isinstance(value, Field) or value.init),
        "__dataclass_fields__": _LateDescription("__dataclass_fields__", describe),
        "__dataclass_params__": _LateDescription("__dataclass_params__", describe),
    }
    if shown:
        namespace["__repr__"] = represent
    if comparable:
        namespace["__eq__"] = equal
        namespace["__hash__"] = hashed if frozen else None
    if frozen:
        namespace |= _FROZEN
    rebuilt: Any = type(title, (), {**namespace, **given, "__annotations__": annotations, "__slots__": tuple(annotations)})
    finished: type[_T] = rebuilt
    return finished


class _LateDescription:
    """An attribute that :mod:`dataclasses` reads. Few classes are ever asked for it."""

    __slots__ = ("_attribute", "_describe")

    def __init__(self, attribute: str, describe: Callable[[str], Any]) -> None:
        self._attribute = attribute
        self._describe = describe

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        return self._describe(self._attribute)


def _constructor(cls: type[Any], declared: Mapping[str, Any], *, frozen: bool) -> Callable[..., None]:
    parameters, body, scope = [], [], {"_set": object.__setattr__, "_FACTORY": _FACTORY}
    for name, options in _fields(declared):
        assert options.kw_only is not True, f"{cls.__name__}.{name}: fields that must be named are not supported"
        value, parameter = name, name
        if options.default_factory is not MISSING:
            scope[f"_make_{name}"] = options.default_factory
            value = f"_make_{name}() if {name} is _FACTORY else {name}" if options.init else f"_make_{name}()"
            parameter = f"{name}=_FACTORY"
        elif options.default is not MISSING:
            scope[f"_default_{name}"] = options.default
            value = name if options.init else f"_default_{name}"
            parameter = f"{name}=_default_{name}"
        elif not options.init:
            continue
        if options.init:
            parameters.append(parameter)
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    return _compiled("__init__", ["self", *parameters], body or ["pass"], scope)


def _equality(declared: Mapping[str, Any]) -> Callable[[Any, Any], Any]:
    names = [name for name, options in _fields(declared) if options.compare]
    body = [
        "if other.__class__ is self.__class__:",
        f"    return {_tuple('self', names)} == {_tuple('other', names)}",
        "return NotImplemented",
    ]
    return _compiled("__eq__", ["self", "other"], body, {})


def _hash(declared: Mapping[str, Any]) -> Callable[[Any], int]:
    names = [name for name, options in _fields(declared) if (options.compare if options.hash is None else options.hash)]
    return _compiled("__hash__", ["self"], [f"return hash({_tuple('self', names)})"], {})


def _fields(declared: Mapping[str, Any]) -> Iterator[tuple[str, Field[Any]]]:
    """Each name, and the options of its field, where a plain value is a default."""
    for name, value in declared.items():
        yield name, value if isinstance(value, Field) else dataclasses.field(default=value)


def _tuple(side: str, names: list[str]) -> str:
    return f"({''.join(f'{side}.{name},' for name in names)})"


def _compiled(name: str, parameters: list[str], body: list[str], scope: dict[str, Any]) -> Callable[..., Any]:
    source = "\n    ".join([f"def {name}({', '.join(parameters)}):", *body])
    exec(compile(source, f"<{name} of a dataclass>", "exec"), scope)  # noqa: S102
    made: Callable[..., Any] = scope[name]
    return made


def _refuse_assignment(self: Any, name: str, value: Any) -> None:  # noqa: ARG001
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: Any, name: str) -> None:  # noqa: ARG001
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _restore_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


_FROZEN = {
    "__setattr__": _refuse_assignment,
    "__delattr__": _refuse_deletion,
    # Without these two, pickle would assign the fields one by one.
    "__getstate__": _state,
    "__setstate__": _restore_state,
}
