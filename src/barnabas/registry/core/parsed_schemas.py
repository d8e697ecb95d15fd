"""Parses and compares schemas with the schemas they refer to, and remembers the results.

Parsing takes from a tenth of a millisecond to many, and a registry compares each new version with
older ones, so parsed schemas are kept, the most recently used ones. Verdicts are kept, too: a
comparison that takes long runs beside the decisions of others, and its verdict is there when the
decision is made again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from barnabas.registry.core.entries import SchemaEntry
from barnabas.registry.core.errors import invalid_schema
from barnabas.registry.core.recently_used import RecentlyUsed
from barnabas.registry.core.state import RegistryState
from barnabas.registry.core.subject import Subject
from barnabas.schemas.compatibility import Breach, Level, breaches
from barnabas.schemas.errors import InvalidSchema, OutOfSteps, SchemaTooComplex
from barnabas.schemas.parsing import parse_schema
from barnabas.schemas.schema import ParsedSchema, Policy, Reference, ResolvedReference, SchemaType
from barnabas.schemas.steps import Steps

if TYPE_CHECKING:
    from barnabas.registry.core.registering import Registration

# Enough for the latest versions of a large organisation, each under two texts at most; a parsed
# schema takes some ten kilobytes.
PARSED_KEPT_MAX: Final = 2_000
# Schemas that one schema may refer to, those of its references included.
REFERENCES_MAX: Final = 500

# Characters that are read in one step; Protobuf's grammar takes about 20 microseconds for each.
CHARACTERS_PER_STEP: Final = {SchemaType.AVRO: 32, SchemaType.JSON: 16, SchemaType.PROTOBUF: 1}
# Verdicts about pairs of schemas: those of registrations that are under way, and of repeated ones.
VERDICTS_KEPT_MAX: Final = 1_000

# A stored schema of these types is checked less than a new one.
_LENIENT_WHEN_STORED: Final = (SchemaType.AVRO, SchemaType.JSON)

_Key = tuple[SchemaType, str, tuple[ResolvedReference, ...], bool]
_Pair = tuple[_Key, _Key, bool, bool, Policy]


class _Kept:
    def __init__(self) -> None:
        self.schemas: RecentlyUsed[_Key, ParsedSchema] = RecentlyUsed(PARSED_KEPT_MAX)
        self.verdicts: RecentlyUsed[_Pair, tuple[Breach, ...]] = RecentlyUsed(VERDICTS_KEPT_MAX)


class ParsedSchemas:
    def __init__(
        self,
        state: RegistryState,
        kept: _Kept | None = None,
        steps: Steps | None = None,
        may_describe: Callable[[str], bool] | None = None,
    ) -> None:
        self._state = state
        self._kept = kept or _Kept()
        self._steps = steps
        self._may_describe = may_describe

    def within(self, steps: Steps) -> ParsedSchemas:
        """The same schemas for work of so many steps: beyond them every method raises
        :class:`~barnabas.schemas.errors.OutOfSteps`. A schema or a verdict that is known takes
        none."""
        return ParsedSchemas(self._state, self._kept, steps, self._may_describe)

    def seen_by(self, may_describe: Callable[[str], bool]) -> ParsedSchemas:
        """The same schemas for a caller: those that it sends or asks for refer to no subject that
        it may not describe, as if there were none. Stored versions that they are compared with
        refer to any."""
        return ParsedSchemas(self._state, self._kept, self._steps, may_describe)

    def stored(self, entry: SchemaEntry) -> ParsedSchema:
        """A schema of the topic, which another registry may have checked less."""
        return self._parsed(self._key(entry.type, entry.text, entry.references, entry.subject, stored=True))

    def parse(self, type_: SchemaType, text: str, references: Sequence[Reference], subject: str, *, stored: bool = False) -> ParsedSchema:
        """``subject`` gives the context of the references. Raises a RegistryError."""
        return self._parsed(self._key(type_, text, references, subject, stored=stored, may_describe=self._may_describe))

    def _key(
        self,
        type_: SchemaType,
        text: str,
        references: Sequence[Reference],
        subject: str,
        *,
        stored: bool,
        may_describe: Callable[[str], bool] | None = None,
    ) -> _Key:
        resolved = tuple(self._resolve(references, Subject.parse(subject), may_describe))
        return type_, text, resolved, stored and type_ in _LENIENT_WHEN_STORED

    def _parsed(self, key: _Key) -> ParsedSchema:
        kept = self._kept.schemas.get(key)
        if kept is not None:
            return kept
        type_, text, resolved, stored = key
        if self._steps is not None:
            self._steps.take(1 + sum(map(len, (text, *(each.text for each in resolved)))) // CHARACTERS_PER_STEP[type_])
        try:
            parsed = parse_schema(type_, text, resolved, stored=stored)
            canonical = parsed.canonical
        except InvalidSchema as error:
            raise invalid_schema(f"Invalid schema of type {type_.value}, details: {error}") from None
        self._kept.schemas.put(key, parsed)
        # A registration parses the text of the client, and compares the canonical one.
        self._kept.schemas.put((type_, canonical, resolved, type_ in _LENIENT_WHEN_STORED), parsed)
        return parsed

    def breaches(self, wanted: Registration, subject: str, older: SchemaEntry, level: Level, policy: Policy) -> tuple[Breach, ...]:
        """Why a canonical registration may not follow a version. Raises a RegistryError."""
        new = self._key(wanted.type, wanted.text, wanted.references, subject, stored=True)
        old = self._key(older.type, older.text, older.references, older.subject, stored=True)
        pair = new, old, level.reads_older, level.read_by_older, policy
        kept = self._kept.verdicts.get(pair)
        if kept is not None:
            return kept
        try:
            found = tuple(breaches(self._parsed(new), [self._parsed(old)], level, policy, self._steps))
        except SchemaTooComplex as error:
            if self._steps is not None and isinstance(error, OutOfSteps):
                raise
            raise invalid_schema(str(error)) from None
        self._kept.verdicts.put(pair, found)
        return found

    def _resolve(
        self, references: Sequence[Reference], parent: Subject, may_describe: Callable[[str], bool] | None
    ) -> list[ResolvedReference]:
        """The referenced texts, each after those that it uses itself."""
        found: dict[str, str] = {}
        self._collect(references, parent, may_describe, found, on_the_way=())
        return [ResolvedReference(name, text) for name, text in found.items()]

    def _collect(
        self,
        references: Sequence[Reference],
        parent: Subject,
        may_describe: Callable[[str], bool] | None,
        found: dict[str, str],
        on_the_way: tuple[str, ...],
    ) -> None:
        for reference in references:
            if reference.name in found:
                continue
            if reference.name in on_the_way:
                raise invalid_schema(f"The reference {reference.name!r} leads back to itself")
            if len(found) + len(on_the_way) >= REFERENCES_MAX:
                raise invalid_schema(f"The schema refers to more than {REFERENCES_MAX} others")
            subject = Subject.parse(reference.subject).within(parent)
            state = self._state
            entry = state.latest(subject.text) if reference.version == -1 else state.version(subject.text, reference.version)
            if entry is None or (may_describe is not None and not may_describe(subject.text)):
                named = f"name={reference.name}, subject={reference.subject}, version={reference.version}"
                raise invalid_schema(
                    f'No schema reference found for subject "{reference.subject}" and version {reference.version} ({named})'
                )
            self._collect(entry.references, subject, may_describe, found, (*on_the_way, reference.name))
            found[reference.name] = entry.text
