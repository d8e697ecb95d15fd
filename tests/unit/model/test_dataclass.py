"""A class of ours behaves like one of the standard library, and compiles what is called."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from barnabas.model.dataclass import dataclass

Declare = Callable[..., Callable[[type[Any]], type[Any]]]
DECORATORS = pytest.mark.parametrize("declare", [dataclass, dataclasses.dataclass], ids=["ours", "standard"])


@dataclass(frozen=True, slots=True)
class Place:
    """Known to pickle by its module and name."""

    topic: str
    partition: int = 0
    tags: list[str] = field(default_factory=list, compare=False)
    secret: str = field(default="", repr=False)


def placed(declare: Declare, *, frozen: bool = True, eq: bool = True) -> type[Any]:
    @declare(frozen=frozen, slots=True, eq=eq)
    class Placed:
        topic: str
        partition: int = 0
        tags: list[str] = field(default_factory=list, compare=False)
        secret: str = field(default="", repr=False)
        length: int = field(init=False, default=7)

        def where(self) -> str:
            return f"{self.topic}-{self.partition}"

    return Placed


@DECORATORS
def test_a_constructor_takes_positions_names_and_defaults(declare: Declare) -> None:
    cls = placed(declare)
    made = cls("t", partition=3)
    assert (made.topic, made.partition, made.tags, made.secret, made.length) == ("t", 3, [], "", 7)
    assert made.where() == "t-3"
    assert cls("t").tags is not cls("t").tags
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'topic'"):
        cls()
    with pytest.raises(TypeError, match="unexpected keyword argument 'length'"):
        cls("t", length=1)


@DECORATORS
def test_equality_and_hash_are_those_of_the_compared_fields(declare: Declare) -> None:
    cls = placed(declare)
    assert cls("t", 1, ["a"]) == cls("t", 1, ["b"])
    assert cls("t", 1) != cls("t", 2)
    assert cls("t") != placed(declare)("t")
    assert hash(cls("t", 1, ["a"])) == hash(cls("t", 1, ["b"])) == hash(("t", 1, "", 7))
    assert {cls("t"): 1}[cls("t")] == 1


@DECORATORS
def test_only_frozen_classes_and_those_without_equality_have_a_hash(declare: Declare) -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(placed(declare, frozen=False)("t"))
    by_identity = placed(declare, frozen=False, eq=False)
    assert len({by_identity("t"), by_identity("t")}) == 2


@DECORATORS
def test_a_representation_has_the_shown_fields(declare: Declare) -> None:
    cls = placed(declare)
    assert repr(cls("t", 1, ["a"])) == f"{cls.__qualname__}(topic='t', partition=1, tags=['a'], length=7)"
    within = cls("t")
    within.tags.append(within)
    assert repr(within) == f"{cls.__qualname__}(topic='t', partition=0, tags=[...], length=7)"


@DECORATORS
def test_a_frozen_object_refuses_changes(declare: Declare) -> None:
    made = placed(declare)("t")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'topic'"):
        made.topic = "u"
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'topic'"):
        del made.topic


@DECORATORS
def test_an_object_has_slots_and_no_dictionary(declare: Declare) -> None:
    made = placed(declare, frozen=False)("t")
    made.topic = "u"
    assert made.topic == "u"
    with pytest.raises(AttributeError):
        made.other = 1


@DECORATORS
def test_the_functions_of_the_standard_library_know_the_fields(declare: Declare) -> None:
    cls: Any = placed(declare)
    assert [each.name for each in dataclasses.fields(cls)] == ["topic", "partition", "tags", "secret", "length"]
    assert dataclasses.replace(cls("t"), partition=2) == cls("t", 2)
    assert dataclasses.asdict(cls("t")) == {"topic": "t", "partition": 0, "tags": [], "secret": "", "length": 7}
    assert cls.__match_args__ == ("topic", "partition", "tags", "secret")
    assert dataclasses.is_dataclass(cls)


@DECORATORS
def test_a_class_keeps_its_own_methods(declare: Declare) -> None:
    @declare(frozen=True, slots=True)
    class Own:
        size: int

        def __post_init__(self) -> None:
            object.__setattr__(self, "size", self.size * 2)

        def __repr__(self) -> str:
            return "own"

        def __hash__(self) -> int:
            return 5

    assert (Own(3).size, repr(Own(3)), hash(Own(3))) == (6, "own", 5)  # type: ignore[call-arg]


@DECORATORS
def test_a_dataclass_can_be_derived(declare: Declare) -> None:
    @declare(frozen=True, slots=True)
    class Derived(placed(declare)):  # type: ignore[misc]
        extra: int = 1

    assert Derived("t", extra=2) == dataclasses.replace(Derived("t"), extra=2)
    assert Derived("t").where() == "t-0"
    with pytest.raises(FrozenInstanceError):
        Derived("t").extra = 3


@DECORATORS
def test_a_class_variable_is_no_field(declare: Declare) -> None:
    @declare(slots=True)
    class Counted:
        size: int
        seen: ClassVar[list[int]] = []

    Counted.seen.append(1)
    assert [each.name for each in dataclasses.fields(Counted)] == ["size"]  # type: ignore[arg-type]


def test_a_pickled_object_returns() -> None:
    sent = Place("t", 3, ["a"], "s")
    got = pickle.loads(pickle.dumps(sent))
    assert (got, got.tags) == (sent, ["a"])


def test_a_mutable_default_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"Listed\.values needs a default_factory"):

        @dataclass(slots=True)
        class Listed:
            values: list[int] = []  # noqa: RUF012
