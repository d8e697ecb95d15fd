"""Random Avro schemas, values of them, and later versions that may or may not read them."""

from __future__ import annotations

import copy
import random
from typing import Any

_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_PROMOTED = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
_DEFAULTS: dict[str, Any] = {
    "null": None, "boolean": True, "int": 7, "long": -3, "float": 0.5, "double": 1.5, "bytes": "\u00ff", "string": "d",
}  # fmt: skip
DEPTH_MAX = 3


class Evolution:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._names = 0

    def schema(self, depth: int = DEPTH_MAX) -> Any:
        kinds = ["primitive"] * 2 + (["record"] * 3 + ["array", "map", "union", "enum", "fixed"] if depth else [])
        match self._chance.choice(kinds):
            case "record":
                fields = [{"name": f"f{index}", "type": self.schema(depth - 1)} for index in range(self._chance.randrange(4))]
                return {"type": "record", "name": self._name("R"), "fields": fields}
            case "array":
                return {"type": "array", "items": self.schema(depth - 1)}
            case "map":
                return {"type": "map", "values": self.schema(depth - 1)}
            case "union":
                branches: list[Any] = self._chance.sample(_PRIMITIVES, self._chance.randrange(1, 4))
                if self._chance.random() < 0.5:
                    branches.append({"type": "record", "name": self._name("U"), "fields": [{"name": "x", "type": self.schema(0)}]})
                return branches
            case "enum":
                return {"type": "enum", "name": self._name("E"), "symbols": ["A", "B", "C"][: self._chance.randrange(1, 4)]}
            case "fixed":
                return {"type": "fixed", "name": self._name("F"), "size": self._chance.randrange(4)}
        return self._chance.choice(_PRIMITIVES)

    def value(self, schema: Any) -> Any:
        match schema:
            case list():
                index = self._chance.randrange(len(schema))
                branch = schema[index]
                return (branch["name"] if isinstance(branch, dict) else branch, self.value(branch))
            case {"type": "record", "fields": fields}:
                return {field["name"]: self.value(field["type"]) for field in fields}
            case {"type": "array", "items": items}:
                return [self.value(items) for _ in range(self._chance.randrange(3))]
            case {"type": "map", "values": values}:
                return {f"k{index}": self.value(values) for index in range(self._chance.randrange(3))}
            case {"type": "enum", "symbols": symbols}:
                return self._chance.choice(symbols)
            case {"type": "fixed", "size": size}:
                return self._chance.randbytes(size)
        return self._primitive(schema)

    def newer(self, schema: Any) -> Any:
        """A copy with a few changes, some of which break it."""
        changed = copy.deepcopy(schema)
        for _ in range(self._chance.randrange(3)):
            changed = self._changed(changed)
        return changed

    def _changed(self, schema: Any) -> Any:
        match schema:
            case list():
                return self._changed_union(schema)
            case {"type": "record", "fields": fields}:
                self._change_fields(fields)
            case {"type": "array"}:
                schema["items"] = self._changed(schema["items"])
            case {"type": "map"}:
                schema["values"] = self._changed(schema["values"])
            case {"type": "enum", "symbols": symbols}:
                schema["symbols"] = symbols[: self._chance.randrange(1, len(symbols) + 1)] + (["Z"] if self._chance.random() < 0.5 else [])
                if self._chance.random() < 0.5:
                    schema["default"] = schema["symbols"][-1]
            case {"type": "fixed"}:
                schema["size"] += self._chance.choice((0, 0, 1))
            case str():
                return self._changed_primitive(schema)
        return schema

    def _change_fields(self, fields: list[Any]) -> None:
        match self._chance.randrange(6):
            case 0 if fields:
                del fields[self._chance.randrange(len(fields))]
            case 1:
                self._chance.shuffle(fields)
            case 2:
                kind = self._chance.choice(_PRIMITIVES)
                fields.append({"name": self._name("n"), "type": kind, "default": _DEFAULTS[kind]})
            case 3:
                fields.insert(0, {"name": self._name("n"), "type": ["null", "long"], "default": None})
            case 4 if fields:
                field = self._chance.choice(fields)
                field["aliases"], field["name"] = [field["name"]], self._name("renamed")
            case _ if fields:
                field = self._chance.choice(fields)
                field["type"] = self._changed(field["type"])

    def _changed_union(self, branches: list[Any]) -> Any:
        if self._chance.random() < 0.3:
            return self._chance.choice(branches)
        changed = [*branches]
        self._chance.shuffle(changed)
        missing = [kind for kind in _PRIMITIVES if kind not in changed]
        if missing and self._chance.random() < 0.5:
            changed.append(self._chance.choice(missing))
        if len(changed) > 1 and self._chance.random() < 0.3:
            changed.pop()
        return changed

    def _changed_primitive(self, kind: str) -> Any:
        if self._chance.random() < 0.6:
            return self._chance.choice(_PROMOTED.get(kind, (kind,)))
        others = self._chance.sample(_PRIMITIVES, 2)
        return list(dict.fromkeys((*others, kind))) if self._chance.random() < 0.7 else others[0]

    def _primitive(self, kind: str) -> Any:
        chance = self._chance
        match kind:
            case "null":
                return None
            case "boolean":
                return chance.random() < 0.5
            case "int":
                return chance.randrange(-(2**31), 2**31)
            case "long":
                return chance.randrange(-(2**63), 2**63)
            case "float":
                return chance.randrange(-1000, 1000) / 8
            case "double":
                return chance.random() * 10 ** chance.randrange(20)
            case "bytes":
                # Java reads bytes as a string without a look at them; we refuse other than UTF-8.
                return b"text"[: chance.randrange(5)]
        return "".join(chance.choice("aé€𝄞") for _ in range(chance.randrange(4)))

    def _name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"
