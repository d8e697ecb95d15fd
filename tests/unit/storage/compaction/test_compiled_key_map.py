"""The compiled key map: the answers of the dict, the memory of Kafka's map, and its two limits."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from barnabas.model.compiled import new_key_table
from barnabas.storage.compaction.compiled_key_map import ENTRY_BYTES, CompiledKeyMap
from barnabas.storage.compaction.dict_key_map import DictKeyMap
from tests.unit.both_scanners import needs_compiled
from tests.unit.storage.compaction.test_key_map import Key, add, batch

pytestmark = needs_compiled

ROWS = st.lists(st.tuples(st.one_of(st.none(), st.binary(max_size=2)), st.booleans()), min_size=1, max_size=9)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(ROWS, st.integers(1, 3), st.integers(0, 5)), min_size=1, max_size=12), st.integers(0, 40))
def test_both_maps_give_the_same_answers(made: list[tuple[list[tuple[Key, bool]], int, int]], start_offset: int) -> None:
    table = new_key_table(b"0123456789abcdef", 1000)
    assert table is not None
    compiled, python = CompiledKeyMap(start_offset, table), DictKeyMap(start_offset, size_bytes_max=1 << 20)
    batches, offset = [], 0
    for rows, step, gap in made:
        batches.append(batch([key for key, _ in rows], offset=offset, step=step, tombstones=tuple(i for i, (_, t) in enumerate(rows) if t)))
        offset = batches[-1][0].last_offset + 1 + gap
        assert compiled.add(*batches[-1]) == python.add(*batches[-1])
    compiled.end_offset = python.end_offset = offset - 1
    assert len(compiled) == len(python)
    for header, body in batches:
        span = header.base_offset, header.last_offset + 1
        assert compiled.survivors(*span) == python.survivors(*span)
        for without in (False, True):
            assert compiled.staying(header, body, without_tombstones=without) == python.staying(header, body, without_tombstones=without)


def test_the_compiled_map_holds_as_many_keys_as_kafkas_and_then_no_more() -> None:
    table = new_key_table(b"0123456789abcdef", 10_000)
    assert table is not None
    latest, random = CompiledKeyMap(0, table), Random(0)
    expected: dict[bytes, int] = {}
    for start in range(0, 10_000, 50):
        keys: list[Key] = [random.randbytes(random.randrange(4, 30)) for _ in range(50)]
        assert add(latest, keys, offset=start)
        expected |= {key: start + index for index, key in enumerate(keys) if key is not None}
        # Growing must not lose any.
        assert len(latest) == len(expected)
    assert not add(latest, [b"one more"], offset=10_000)
    assert add(latest, [next(iter(expected))], offset=10_001)
    # The table, which is a ninth larger than its entries, and the sorted offsets.
    assert latest.size_bytes <= 10_000 * ENTRY_BYTES / 0.9
    assert latest.survivors(0, 10_000) == sorted(expected.values())[1:]


def test_the_compiled_map_ends_where_an_offset_is_too_far_from_the_first() -> None:
    table = new_key_table(b"0123456789abcdef", 1000)
    assert table is not None
    latest = CompiledKeyMap(0, table)
    assert add(latest, [b"a"], offset=2**40)
    assert add(latest, [b"b", b"c"], offset=2**40 + 2**31 - 2, tombstones=(1,))
    assert not add(latest, [b"a"], offset=2**40 + 2**31)
    assert latest.survivors(2**40, 2**40 + 2**31 - 1) == [0, 2**31 - 2]
    assert latest.survivors(2**40, 2**41) is None
    with pytest.raises(ValueError, match="complete"):
        add(latest, [b"a"], offset=2**40 + 1)
