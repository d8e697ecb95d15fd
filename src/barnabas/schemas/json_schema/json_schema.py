"""A parsed JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from barnabas.schemas.difference import Difference, type_changed
from barnabas.schemas.json_schema.changes import LENIENT, STRICT
from barnabas.schemas.json_schema.comparison import changes_between
from barnabas.schemas.json_schema.model import Node
from barnabas.schemas.json_schema.parsing import nodes_of
from barnabas.schemas.json_text import read_json, write_json
from barnabas.schemas.schema import ParsedSchema, Policy, ResolvedReference, SchemaType
from barnabas.schemas.steps import Steps


@dataclass(frozen=True)
class JsonSchema:
    value: Any
    known: Mapping[str, Any]
    """The referenced documents by name."""
    node: Node

    type = SchemaType.JSON

    @classmethod
    def parse(cls, text: str, references: Sequence[ResolvedReference] = (), *, stored: bool = False) -> JsonSchema:
        value = read_json(text, stored=stored)
        known = {reference.name: read_json(reference.text, stored=True) for reference in references}
        return cls(value, known, nodes_of(value, known))

    @cached_property
    def canonical(self) -> str:
        return write_json(self.value)

    @cached_property
    def normalized(self) -> str:
        return write_json(self.value, sort_keys=True)

    def unreadable(self, older: ParsedSchema, policy: Policy = Policy.STRICT, steps: Steps | None = None) -> list[Difference]:
        if not isinstance(older, JsonSchema):
            return [type_changed(older.type, self.type)]
        compatible = LENIENT if policy is Policy.LENIENT else STRICT
        return [
            Difference(change.kind, f"#/{'/'.join(change.path)}", f"the change is not allowed under the policy {policy.value}")
            for change in changes_between(older.node, self.node, compatible, steps)
            if change.kind not in compatible
        ]

    @property
    def record_name(self) -> str | None:
        title = self.value.get("title") if isinstance(self.value, dict) else None
        return title if isinstance(title, str) else None
