"""The format of MirrorMaker's checkpoint records."""

from __future__ import annotations

from barnabas.pipelines.mirror.checkpoint_record import GroupCheckpoint


def test_a_checkpoint_has_mirrormakers_bytes() -> None:
    record = GroupCheckpoint("g", "A.t", 3, source_offset=5, target_offset=6)
    assert record.key == b"\0\x01g" + b"\0\x03A.t" + b"\0\0\0\x03"
    assert record.value == b"\0\0" + b"\0\0\0\0\0\0\0\x05" + b"\0\0\0\0\0\0\0\x06" + b"\0\0"
