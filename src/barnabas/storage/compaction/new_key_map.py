"""The key map for a pass: compiled where it can be."""

from __future__ import annotations

from os import urandom

from barnabas.model.compiled import new_key_table
from barnabas.storage.compaction.compiled_key_map import ENTRY_BYTES, CompiledKeyMap
from barnabas.storage.compaction.dict_key_map import DictKeyMap
from barnabas.storage.compaction.key_map import KeyMap

SECRET_BYTES = 16


def new_key_map(start_offset: int, *, size_bytes_max: int) -> KeyMap:
    # Not from the node's source of chance: no answer of a map depends on its secret, so a
    # simulation repeats itself without it.
    table = new_key_table(urandom(SECRET_BYTES), size_bytes_max // ENTRY_BYTES)
    return DictKeyMap(start_offset, size_bytes_max=size_bytes_max) if table is None else CompiledKeyMap(start_offset, table)
