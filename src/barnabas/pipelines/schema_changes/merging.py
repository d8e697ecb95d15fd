"""The columns of JSON records after a change was accepted. Pure, like :mod:`columns`.

Records have no columns, only fields, and every record may have others. So the new columns are not
simply those of a sample of the unread records: that would drop a rare field that is not in the
sample.

a remembered field                            in the new columns
===========================================   ======================================================
is in the sample, and its values fit          as it was
is in the sample, and its values do not fit   with the sample's type
is in no unread record                        left out if every record had it before; otherwise as
                                              it was

New fields come after the others. A field is required if every unread record has it and it is new or
was required before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from barnabas.pipelines.schema_changes.columns import Struct, is_struct

# Types of numbers that a column can hold besides its own, without loss.
_FITS = {"double": ("long", "integer", "float"), "long": ("integer",), "decimal": ("long", "integer")}


@dataclass(frozen=True, slots=True)
class Presence:
    """For one field: how many objects could have it, and how many do."""

    objects: int
    having: int

    @property
    def always(self) -> bool:
        return self.objects > 0 and self.having == self.objects


def marked(schema: Struct, present: Mapping[str, Presence], prefix: str = "") -> dict[str, Any]:
    """Fields that are always present are required."""
    return _struct(
        {
            **field,
            "type": marked(field["type"], present, f"{prefix}{field['name']}.") if is_struct(field["type"]) else field["type"],
            "nullable": not present[prefix + field["name"]].always if prefix + field["name"] in present else True,
        }
        for field in schema["fields"]
    )


def optional(schema: Struct) -> dict[str, Any]:
    """Nothing is required."""
    return marked(schema, {})


def news(schema: Struct, known: Collection[str], wanted: Callable[[str], bool], prefix: str = "") -> dict[str, Any]:
    """The columns of the schema that are unknown and wanted."""
    fields = []
    for field in schema["fields"]:
        name = prefix + field["name"]
        if name not in known and wanted(name):
            fields.append(field)
        elif name in known and is_struct(field["type"]) and (inside := news(field["type"], known, wanted, f"{name}."))["fields"]:
            fields.append({**field, "type": inside})
    return _struct(fields)


def merged(known: Struct, sampled: Struct, present: Mapping[str, Presence], prefix: str = "") -> dict[str, Any]:
    """``present`` counts all unread records, over the fields of both."""
    new = {field["name"]: field for field in sampled["fields"]}
    fields = []
    for field in known["fields"]:
        name = prefix + field["name"]
        count = present.get(name, Presence(0, 0))
        gone = count.objects > 0 and count.having == 0
        if gone and not field["nullable"]:
            continue
        kind = _merged_type(field["type"], new[field["name"]]["type"], present, f"{name}.") if field["name"] in new else field["type"]
        fields.append({**field, "type": kind, "nullable": field["nullable"] or (count.objects > 0 and not count.always)})
    have = {field["name"] for field in known["fields"]}
    fields += [field for field in marked(sampled, present, prefix)["fields"] if field["name"] not in have]
    return _struct(fields)


def _merged_type(known: Any, sampled: Any, present: Mapping[str, Presence], prefix: str) -> Any:
    if is_struct(known) and is_struct(sampled):
        return merged(known, sampled, present, prefix)
    return known if _fits(known, sampled) else sampled


def _fits(known: Any, sampled: Any) -> bool:
    """Whether Spark reads values of one type as the other. A text column takes everything: other
    values arrive as their JSON."""
    if known in ("string", sampled):
        return True
    if isinstance(known, str) and isinstance(sampled, str):
        return sampled in _FITS.get(known.partition("(")[0], ())
    if isinstance(known, Mapping) and isinstance(sampled, Mapping) and known["type"] == sampled["type"] == "array":
        return _fits(known["elementType"], sampled["elementType"])
    return False


def _struct(fields: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}
