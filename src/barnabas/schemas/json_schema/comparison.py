"""The changes between two JSON Schemas, from the old one to the new one.

Changes of a pair of nodes are found once and kept relative to the pair, because definitions that
refer to each other would otherwise be compared exponentially often. A pair that meets itself again
inside its own comparison counts as compatible at first. If it then turns out to be incompatible,
everything that relied on it is compared again, until no more pair changes its verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, Final, NamedTuple

from barnabas.schemas.json_schema.matching import pairs_matched
from barnabas.schemas.json_schema.model import (
    Anything,
    Array,
    Combination,
    Constant,
    Enumeration,
    Negation,
    Node,
    Nothing,
    Number,
    Object,
    Text,
)
from barnabas.schemas.json_schema.open_content import covering_item, covering_property, has_open_items, has_open_properties
from barnabas.schemas.json_text import write_json
from barnabas.schemas.limits import CHANGES_KEPT_MAX
from barnabas.schemas.steps import Steps

_ANY: Final = ("anyOf", "oneOf")
_BYTES: Final = "bytes"
_VALUES_PER_STEP: Final = 16


class Change(NamedTuple):
    kind: str
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} #/{'/'.join(self.path)}"


_Pair = tuple[int, int]


def changes_between(old: Node, new: Node, compatible: frozenset[str], steps: Steps | None = None) -> list[Change]:
    """All changes, compatible ones included. ``compatible`` are the kinds that count as such: they
    decide which branches of a combination belong together.
    """
    incompatible: dict[_Pair, list[Change]] = {}
    steps = steps or Steps()
    while True:
        comparison = _Comparison(compatible, incompatible, steps)
        found = comparison.compare(old, new)
        seen = comparison.incompatible_pairs()
        if not comparison.assumed or seen.keys() <= incompatible.keys():
            return found
        # A pair only becomes incompatible when more is known, and never compatible again.
        incompatible = {**incompatible, **seen}


class _Comparison:
    def __init__(self, compatible: frozenset[str], incompatible: dict[_Pair, list[Change]], steps: Steps) -> None:
        self._compatible = compatible
        self._incompatible = incompatible
        self._known: dict[_Pair, list[Change]] = {}
        self._under_way: set[_Pair] = set()
        self._steps = steps
        self.assumed = False
        """Whether a pair was taken for compatible because it met itself."""

    def incompatible_pairs(self) -> dict[_Pair, list[Change]]:
        return {pair: found for pair, found in self._known.items() if not self._fits(found)}

    def _fits(self, changes: Iterable[Change]) -> bool:
        return all(change.kind in self._compatible for change in changes)

    def compare(self, old: Node | None, new: Node | None) -> list[Change]:
        if old is None or new is None:
            return [] if old is new else [Change("SCHEMA_ADDED" if old is None else "SCHEMA_REMOVED")]
        pair = id(old), id(new)
        if pair in self._known:
            return self._known[pair]
        if pair in self._under_way:
            if pair in self._incompatible:
                return self._incompatible[pair]
            self.assumed = True
            return []
        self._steps.take()
        self._under_way.add(pair)
        found = self._known[pair] = self._kept(self._nodes(old, new))
        self._under_way.discard(pair)
        return found

    def _kept(self, changes: Iterator[Change]) -> list[Change]:
        """The first changes of each kind of verdict. The search ends with enough incompatible ones:
        more of them would not change the verdict."""
        found: list[Change] = []
        breaking = 0
        for change in changes:
            fits = change.kind in self._compatible
            if fits and len(found) - breaking >= CHANGES_KEPT_MAX:
                continue
            found.append(change)
            breaking += not fits
            if breaking == CHANGES_KEPT_MAX:
                break
        if len(found) > CHANGES_KEPT_MAX:
            found.sort(key=lambda change: change.kind in self._compatible)
        return found[:CHANGES_KEPT_MAX]

    def _at(self, *path: str, old: Node | None, new: Node | None) -> Iterator[Change]:
        for kind, inner in self.compare(old, new):
            yield Change(kind, path + inner)

    def _nodes(self, old: Node, new: Node) -> Iterator[Change]:
        shortcut = self._one_side_combined(old, new)
        if shortcut is not None:
            yield from shortcut
            return
        if type(old) is not type(new):
            connect = old.annotations.connect_type, new.annotations.connect_type
            if not isinstance(old, Nothing) and not isinstance(new, Anything) and connect != (_BYTES, _BYTES):
                yield Change("TYPE_CHANGED")
            return
        yield from _annotations(old, new)
        match old, new:
            case Text(), Text():
                yield from _bounds(old.limits, new.limits, {"maxLength": "MAX_LENGTH", "minLength": "MIN_LENGTH"})
                yield from _pattern(old.limits.get("pattern"), new.limits.get("pattern"))
            case Number(), Number():
                yield from _numbers(old, new)
            case Constant(), Constant():
                if old.value != new.value:
                    yield Change("ENUM_ARRAY_CHANGED", ("const",))
            case Enumeration(), Enumeration():
                self._steps.take((len(old.values) + len(new.values)) // _VALUES_PER_STEP)
                yield from _enumerations(old, new)
            case Combination(), Combination():
                yield from self._combinations(old, new)
            case Negation(), Negation():
                # The excluded values may only become fewer, so the comparison runs the other way.
                fits = self._fits(self.compare(new.inner, old.inner))
                yield Change("NOT_TYPE_NARROWED" if fits else "NOT_TYPE_EXTENDED", ("not",))
            case Object(), Object():
                yield from self._objects(old, new)
            case Array(), Array():
                yield from self._arrays(old, new)

    # -- combinations ------------------------------------------------------------------------------

    def _one_side_combined(self, old: Node, new: Node) -> list[Change] | None:
        """The changes if one schema became a combination, or stopped being one, and a part of the
        combination fits; None otherwise.
        """
        if isinstance(new, Combination) and not isinstance(old, Combination):
            sides: list[tuple[Node, Node]] = [(old, part) for part in new.parts]
            many = "SUM_TYPE_EXTENDED" if new.criterion in _ANY else None
        elif isinstance(old, Combination) and not isinstance(new, Combination):
            sides = [(part, new) for part in old.parts]
            many = "PRODUCT_TYPE_NARROWED" if old.criterion == "allOf" else None
        else:
            return None
        if len(sides) != 1 and many is None:
            return None
        for before, after in sides:
            found = self.compare(before, after)
            if self._fits(found):
                return found if len(sides) == 1 else [*found, Change(str(many))]
        return None

    def _combinations(self, old: Combination, new: Combination) -> Iterator[Change]:
        if old.criterion != new.criterion:
            kind = _criterion_change(old, new)
            yield Change(kind)
            if kind == "COMBINED_TYPE_CHANGED":
                return
        before, after = old.distinct, new.distinct
        if len(before) < len(after):
            yield Change("PRODUCT_TYPE_EXTENDED" if new.criterion == "allOf" else "SUM_TYPE_EXTENDED")
        elif len(before) > len(after):
            yield Change("SUM_TYPE_NARROWED" if old.criterion in _ANY else "PRODUCT_TYPE_NARROWED")
        fitting: dict[tuple[int, int], list[Change]] = {}
        for left, part in enumerate(before):
            for right, other in enumerate(after):
                found = self.compare(part, other)
                if self._fits(found):
                    fitting[left, right] = found
        matched = pairs_matched(fitting, len(before))
        for left, right in matched:
            yield from (Change(kind, (old.criterion, str(left), *path)) for kind, path in fitting[left, right])
        if len(matched) < min(len(before), len(after)):
            yield Change("COMBINED_TYPE_SUBSCHEMAS_CHANGED")

    # -- objects -----------------------------------------------------------------------------------

    def _objects(self, old: Object, new: Object) -> Iterator[Change]:
        for name in old.properties.keys() & new.properties.keys():
            yield from _required(old, new, name)
        for name in old.properties.keys() | new.properties.keys():
            yield from self._property(old, new, name)
        yield from self._dependencies(old, new)
        yield from self._more(old, new, "additionalProperties", "ADDITIONAL_PROPERTIES")
        yield from self._unevaluated(old.unevaluated, new.unevaluated, "unevaluatedProperties", "UNEVALUATED_PROPERTIES")
        yield from _bounds(old.limits, new.limits, {"maxProperties": "MAX_PROPERTIES", "minProperties": "MIN_PROPERTIES"})

    def _property(self, old: Object, new: Object, name: str) -> Iterator[Change]:
        path = ("properties", name)
        before, after = old.properties.get(name), new.properties.get(name)
        if before is not None and after is not None:
            yield from self._at(*path, old=before, new=after)
        elif before is not None:
            yield from self._removed(path, before, self._covering(new, name), "PROPERTY", is_open=has_open_properties(new))
        elif after is not None:
            yield from self._property_added(old, new, name, after)

    def _property_added(self, old: Object, new: Object, name: str, added: Node) -> Iterator[Change]:
        path = ("properties", name)
        need = "OPTIONAL_PROPERTY"
        if name in new.required:
            need = "REQUIRED_PROPERTY_WITH_DEFAULT" if added.annotations.has_default else "REQUIRED_PROPERTY"
        if has_open_properties(old):
            empty = isinstance(added, Anything)
            yield Change(f"{'PROPERTY_WITH_EMPTY_SCHEMA' if empty else need}_ADDED_TO_OPEN_CONTENT_MODEL", path)
            return
        covering = self._covering(old, name)
        if covering is not None:
            found = self.compare(covering, added)
            yield from (Change(kind, path + inner) for kind, inner in found)
            yield Change(f"PROPERTY_ADDED_{_covered(self._fits(found))}_BY_PARTIALLY_OPEN_CONTENT_MODEL", path)
        yield Change(f"{need}_ADDED_TO_UNOPEN_CONTENT_MODEL", path)

    def _covering(self, schema: Object, name: str) -> Node | None:
        # Each pattern is an expression that is matched with the name.
        self._steps.take(1 + len(schema.patterns))
        return covering_property(schema, name)

    def _removed(self, path: tuple[str, ...], before: Node, covering: Node | None, noun: str, *, is_open: bool) -> Iterator[Change]:
        if is_open:
            yield Change(f"{noun}_REMOVED_FROM_OPEN_CONTENT_MODEL", path)
        elif covering is not None:
            found = self.compare(before, covering)
            yield from (Change(kind, path + inner) for kind, inner in found)
            yield Change(f"{noun}_REMOVED_{_covered(self._fits(found))}_BY_PARTIALLY_OPEN_CONTENT_MODEL", path)
        else:
            refused = "_WITH_FALSE" if isinstance(before, Nothing) else ""
            yield Change(f"{noun}{refused}_REMOVED_FROM_CLOSED_CONTENT_MODEL", path)

    def _dependencies(self, old: Object, new: Object) -> Iterator[Change]:
        for name in old.needed_with.keys() | new.needed_with.keys():
            before, after = old.needed_with.get(name), new.needed_with.get(name)
            if before != after:
                yield Change(f"DEPENDENCY_ARRAY_{_set_change(before, after)}", ("dependencies", name))
        for name in old.schema_with.keys() | new.schema_with.keys():
            earlier, later = old.schema_with.get(name), new.schema_with.get(name)
            if earlier is not None and later is not None:
                yield from self._at("dependencies", name, old=earlier, new=later)
            else:
                yield Change(f"DEPENDENCY_SCHEMA_{'ADDED' if earlier is None else 'REMOVED'}", ("dependencies", name))

    # -- arrays ------------------------------------------------------------------------------------

    def _arrays(self, old: Array, new: Array) -> Iterator[Change]:
        yield from self._at("items", old=old.every_item, new=new.every_item)
        for index in range(max(len(old.items), len(new.items))):
            yield from self._item(old, new, index)
        yield from self._more(old, new, "additionalItems", "ADDITIONAL_ITEMS")
        yield from self._unevaluated(old.unevaluated, new.unevaluated, "unevaluatedItems", "UNEVALUATED_ITEMS")
        yield from _bounds(old.limits, new.limits, {"maxItems": "MAX_ITEMS", "minItems": "MIN_ITEMS"})
        if old.unique != new.unique:
            yield Change(f"UNIQUE_ITEMS_{'ADDED' if new.unique else 'REMOVED'}", ("uniqueItems",))
        yield from _bounds(old.limits, new.limits, {"maxContains": "MAX_CONTAINS", "minContains": "MIN_CONTAINS"})

    def _item(self, old: Array, new: Array, index: int) -> Iterator[Change]:
        path = ("items", str(index))
        if index < len(old.items) and index < len(new.items):
            yield from self._at(*path, old=old.items[index], new=new.items[index])
        elif index < len(old.items):
            yield from self._removed(path, old.items[index], covering_item(new), "ITEM", is_open=has_open_items(new))
        elif has_open_items(old):
            empty = "_WITH_EMPTY_SCHEMA" if isinstance(new.items[index], Anything) else ""
            yield Change(f"ITEM{empty}_ADDED_TO_OPEN_CONTENT_MODEL", path)
        elif (covering := covering_item(old)) is not None:
            found = self.compare(covering, new.items[index])
            yield from (Change(kind, path + inner) for kind, inner in found)
            yield Change(f"ITEM_ADDED_{_covered(self._fits(found))}_BY_PARTIALLY_OPEN_CONTENT_MODEL", path)
        else:
            yield Change("ITEM_ADDED_TO_CLOSED_CONTENT_MODEL", path)

    # -- what else an object or array may contain --------------------------------------------------

    def _more(self, old: Object | Array, new: Object | Array, keyword: str, noun: str) -> Iterator[Change]:
        if old.permits_more != new.permits_more:
            yield Change(f"{noun}_{'ADDED' if new.permits_more else 'REMOVED'}", (keyword,))
        elif (old.more is None) != (new.more is None):
            yield Change(f"{noun}_{'NARROWED' if old.more is None else 'EXTENDED'}", (keyword,))
        else:
            yield from self._at(keyword, old=old.more, new=new.more)

    def _unevaluated(self, old: Node | None, new: Node | None, keyword: str, noun: str) -> Iterator[Change]:
        if old is None and new is None:
            return
        was_closed, is_closed = isinstance(old, Nothing), isinstance(new, Nothing)
        was_open, is_open = old is None or isinstance(old, Anything), new is None or isinstance(new, Anything)
        if was_closed != is_closed:
            yield Change(f"{noun}_{'ADDED' if was_closed else 'REMOVED'}", (keyword,))
        elif (old is None) != (new is None):
            # `true` and an absent keyword mean the same, and still count as a change.
            yield Change(f"{noun}_{'NARROWED' if old is None else 'EXTENDED'}", (keyword,))
        elif was_open != is_open:
            yield Change(f"{noun}_{'NARROWED' if was_open else 'EXTENDED'}", (keyword,))
        else:
            yield from self._at(keyword, old=old, new=new)


def _annotations(old: Node, new: Node) -> Iterator[Change]:
    before, after = old.annotations, new.annotations
    if before.id != after.id:
        yield Change("ID_CHANGED")
    if before.title != after.title:
        yield Change("TITLE_CHANGED")
    if before.description != after.description:
        yield Change("DESCRIPTION_CHANGED")
    if before.default != after.default:
        yield Change("DEFAULT_CHANGED")


def _bounds(old: Any, new: Any, nouns: dict[str, str]) -> Iterator[Change]:
    for keyword, noun in nouns.items():
        before, after = old.get(keyword), new.get(keyword)
        if before == after:
            continue
        if before is None or after is None:
            yield Change(f"{noun}_{'ADDED' if before is None else 'REMOVED'}", (keyword,))
        else:
            yield Change(f"{noun}_{'INCREASED' if before < after else 'DECREASED'}", (keyword,))


def _pattern(before: str | None, after: str | None) -> Iterator[Change]:
    if before != after:
        yield Change(f"PATTERN_{'ADDED' if before is None else 'REMOVED' if after is None else 'CHANGED'}", ("pattern",))


def _numbers(old: Number, new: Number) -> Iterator[Change]:
    nouns = {
        "maximum": "MAXIMUM",
        "minimum": "MINIMUM",
        "exclusiveMaximum": "EXCLUSIVE_MAXIMUM",
        "exclusiveMinimum": "EXCLUSIVE_MINIMUM",
    }
    yield from _bounds(old.limits, new.limits, nouns)
    before, after = _decimal(old.limits.get("multipleOf")), _decimal(new.limits.get("multipleOf"))
    if before != after:
        yield Change(f"MULTIPLE_OF_{_multiple_change(before, after)}", ("multipleOf",))
    if old.integer != new.integer:
        yield Change("TYPE_EXTENDED" if old.integer else "TYPE_NARROWED")


def _decimal(value: Any) -> Decimal | None:
    return Decimal(str(value)) if value is not None else None


def _multiple_change(before: Decimal | None, after: Decimal | None) -> str:
    if before is None:
        return "ADDED"
    if after is None:
        return "REMOVED"
    if before and not after % before:
        return "EXPANDED"
    return "REDUCED" if after and not before % after else "CHANGED"


def _enumerations(old: Enumeration, new: Enumeration) -> Iterator[Change]:
    before, after = ({_comparable(value) for value in each.values} for each in (old, new))
    gone, came = before - after, after - before
    if gone or came:
        yield Change(f"ENUM_ARRAY_{'CHANGED' if gone and came else 'NARROWED' if gone else 'EXTENDED'}", ("enum",))


def _comparable(value: Any) -> Any:
    """A value that is compared in constant time, and tells ``true`` from ``1``."""
    return write_json(value, sort_keys=True) if isinstance(value, dict | list) else (type(value).__name__, value)


def _required(old: Object, new: Object, name: str) -> Iterator[Change]:
    was, is_now = name in old.required, name in new.required
    if was and not is_now:
        yield Change("REQUIRED_ATTRIBUTE_REMOVED", ("required", name))
    elif is_now and not was:
        with_default = "_WITH_DEFAULT" if new.properties[name].annotations.has_default else ""
        yield Change(f"REQUIRED_ATTRIBUTE{with_default}_ADDED", ("required", name))


def _set_change(before: frozenset[str] | None, after: frozenset[str] | None) -> str:
    if before is None:
        return "ADDED"
    if after is None:
        return "REMOVED"
    return "EXTENDED" if before < after else "NARROWED" if after < before else "CHANGED"


def _covered(fits: bool) -> str:
    return "IS_COVERED" if fits else "NOT_COVERED"


def _criterion_change(old: Combination, new: Combination) -> str:
    single_old, single_new = len(old.parts) == 1, len(new.parts) == 1
    extended = (
        new.criterion == "anyOf"
        or (single_old and single_new)
        or (single_old and new.criterion == "oneOf")
        or (single_new and old.criterion == "allOf")
    )
    return "COMBINED_TYPE_EXTENDED" if extended else "COMBINED_TYPE_CHANGED"
