from __future__ import annotations

import pytest

from barnabas.registry.core.digest import guid_of
from barnabas.registry.core.entries import ClearSubjectKey, Entry, SchemaEntry, SchemaKey
from barnabas.registry.core.state import RegistryState
from barnabas.schemas.schema import SchemaType

MD5 = bytes(16)
GUID = guid_of(MD5)


def replayed(*places: tuple[str, int]) -> RegistryState:
    """One schema under several subjects, each with its id."""
    state = RegistryState()
    for subject, schema_id in places:
        state.replay(Entry(SchemaKey(subject, 1), SchemaEntry(subject, 1, schema_id, SchemaType.AVRO, '"int"', MD5)))
    return state


def remove(state: RegistryState, subject: str) -> None:
    """Delete a subject for good, and let an import use its id again."""
    state.replay(Entry(SchemaKey(subject, 1), None))
    state.replay(Entry(ClearSubjectKey(subject), {"subject": subject}))


def test_an_id_that_an_import_clears_is_forgotten() -> None:
    state = replayed(("a", 1))
    remove(state, "a")
    assert (state.by_id(".", 1), state.id_of(".", MD5), state.by_guid(GUID)) == (None, None, None)


@pytest.mark.parametrize(("removed", "kept"), [("a", ("b", 20)), ("b", ("a", 10))])
def test_a_schema_with_two_ids_keeps_the_one_in_use(removed: str, kept: tuple[str, int]) -> None:
    state = replayed(("a", 10), ("b", 20))
    remove(state, removed)
    subject, schema_id = kept
    assert state.id_of(".", MD5) == schema_id
    found = state.by_guid(GUID)
    assert found is not None
    assert (found.subject, found.id) == (subject, schema_id)


def test_an_id_in_use_is_known_before_one_that_no_version_has() -> None:
    state = replayed((":.eu:a", 1), ("b", 2), ("c", 3))
    state.replay(Entry(SchemaKey("b", 1), None))
    remove(state, ":.eu:a")
    found = state.by_guid(GUID)
    assert found is not None
    assert found.subject == "c"


@pytest.mark.parametrize(("removed", "kept"), [(":.eu:a", "a"), ("a", ":.eu:a")])
def test_a_schema_keeps_its_guid_while_another_context_has_it(removed: str, kept: str) -> None:
    state = replayed(("a", 1), (":.eu:a", 1))
    remove(state, removed)
    found = state.by_guid(GUID)
    assert found is not None
    assert found.subject == kept
