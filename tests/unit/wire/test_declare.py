"""A declared class is a plain object: keyword constructor, slots, equality by value, Kafka's
defaults.
"""

from __future__ import annotations

import pytest

from barnabas.model.ids import ZERO_UUID
from barnabas.wire.declare import data, declaration_of, field, field_values, struct
from barnabas.wire.types import Bool, Float64, Int32, String, Uuid
from barnabas.wire.versions import Versions
from tests.unit.wire.declared import Versioned, bare, declared_messages, every_version, full, present_fields


# This module postpones its annotations, as most do: declarations must work either way.
@struct
class Point:
    x: Int32 = field()
    y: Int32 = field(default=-1)


@struct
class Offset:
    x: Int32 = field()
    y: Int32 = field(default=-1)


@data(versions="0-2", flexible="2+")
class Drawing:
    name: String = field()
    title: String | None = field("1+", nullable="1+", default=None)
    points: list[Point] = field()
    origin: Point = field()
    topic_id: Uuid = field()
    scale: Float64 = field(default=1.0)
    closed: Bool = field(default=True)


def test_every_field_defaults_to_its_own_default_or_that_of_its_type() -> None:
    drawing = Drawing()  # type: ignore[call-arg]  # mypy wants what Kafka lets one leave out
    assert field_values(drawing) == {
        "name": "",
        "title": None,
        "points": [],
        "origin": Point(x=0),
        "topic_id": ZERO_UUID,
        "scale": 1.0,
        "closed": True,
    }
    assert drawing.origin.y == -1


def test_two_messages_never_share_a_list() -> None:
    first, second = Drawing(), Drawing()  # type: ignore[call-arg]
    first.points.append(Point(x=1))
    assert second.points == []


def test_messages_are_equal_by_value_and_have_no_hash() -> None:
    assert Point(x=1) == Point(x=1, y=-1)
    assert Point(x=1) != Point(x=2)
    assert Point(x=1) != Offset(x=1)  # type: ignore[comparison-overlap]
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point(x=1))


def test_a_message_shows_its_fields() -> None:
    assert repr(Point(x=3)) == "Point(x=3, y=-1)"


def test_only_declared_fields_can_be_set() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(x=1, z=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        Point(1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        Point(x=1).z = 2  # type: ignore[attr-defined]


def test_a_declaration_knows_its_versions_and_fields() -> None:
    declaration = declaration_of(Drawing)
    assert (declaration.versions, str(declaration.flexible)) == (Versions(0, 2), "2+")
    assert [each.name for each in present_fields(Drawing, 0)] == ["name", "points", "origin", "topic_id", "scale", "closed"]


def test_no_field_is_null_by_default_where_its_version_forbids_null() -> None:
    for versioned in every_version():
        for each in present_fields(*versioned):
            assert each.default() is not None or versioned.version in each.options.nullable, (versioned, each.name)


@pytest.mark.parametrize("cls", declared_messages(), ids=lambda cls: cls.__name__)
def test_a_full_value_has_no_field_at_its_default(cls: type[object]) -> None:
    """The conformance tests rely on it to see every tagged field set."""
    for version in declaration_of(cls).versions.all():
        message, defaults = full(cls, version), bare(cls, version)
        unset = [each.name for each in present_fields(cls, version) if getattr(message, each.name) == getattr(defaults, each.name)]
        assert unset == [], Versioned(cls, version)
