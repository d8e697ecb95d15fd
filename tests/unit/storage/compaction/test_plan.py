"""Which part of a log is compacted, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from barnabas.storage.compaction.dirty_log import measure
from barnabas.storage.compaction.plan import DirtySection, LogShape, SegmentShape, dirtiest, dirty_section, group_segments
from barnabas.storage.log_settings import LogSettings
from tests.unit.storage.compaction.tables import new_table, rows, seal
from tests.unit.storage.logs import append

NOW_MS = 1_000_000
FAR = 2**31 - 1


def segments(*sizes: int, offsets_each: int = 100, written_ms: Sequence[int] = ()) -> list[SegmentShape]:
    """Neighbours without gaps; the last is the active one."""
    return [
        SegmentShape(
            slot * offsets_each,
            (slot + 1) * offsets_each,
            size,
            first_timestamp=written_ms[slot] if written_ms else NOW_MS,
            max_timestamp=written_ms[slot] if written_ms else NOW_MS,
        )
        for slot, size in enumerate(sizes)
    ]


def log(*sizes: int, start: int = 0, decided: int | None = None, written_ms: Sequence[int] = ()) -> LogShape:
    shapes = segments(*sizes, written_ms=written_ms)
    end = shapes[-1].next_offset
    return LogShape(shapes, start, end, end if decided is None else decided)


def section(shape: LogShape, cleaned_to: int | None = None, settings: LogSettings | None = None) -> DirtySection:
    return dirty_section(shape, settings or LogSettings(), cleaned_to=cleaned_to, now_ms=NOW_MS)


class TestWhatIsCleanable:
    def test_a_log_that_was_never_compacted_is_dirty_up_to_its_active_segment(self) -> None:
        assert section(log(10, 20, 30)) == DirtySection(0, 200, clean_bytes=0, cleanable_bytes=30)

    def test_the_active_segment_alone_is_never_compacted(self) -> None:
        assert section(log(10)) == DirtySection(0, 0, clean_bytes=0, cleanable_bytes=0)

    def test_the_compacted_part_counts_as_clean(self) -> None:
        found = section(log(10, 30, 5), cleaned_to=100)
        assert found == DirtySection(100, 200, clean_bytes=10, cleanable_bytes=30)
        assert found.ratio == 0.75

    def test_the_segment_a_pass_ended_in_counts_for_both(self) -> None:
        assert section(log(10, 30, 5), cleaned_to=150) == DirtySection(150, 200, clean_bytes=40, cleanable_bytes=30)

    def test_an_undecided_record_keeps_its_whole_segment(self) -> None:
        assert section(log(10, 20, 30, 40, decided=150)).first_uncleanable_offset == 100
        assert section(log(10, 20, 30, 40, decided=200)).first_uncleanable_offset == 200

    def test_nothing_is_cleanable_when_the_first_segment_is_undecided(self) -> None:
        assert section(log(10, 20, 30, decided=50)) == DirtySection(0, 0, clean_bytes=0, cleanable_bytes=0)

    def test_a_young_segment_delays_itself_and_all_behind_it(self) -> None:
        shape = log(10, 20, 30, 40, written_ms=[1, NOW_MS - 500, 2, NOW_MS])
        assert section(shape, settings=LogSettings(min_compaction_lag_ms=1000)).first_uncleanable_offset == 100
        assert section(shape, settings=LogSettings(min_compaction_lag_ms=500)).first_uncleanable_offset == 300

    def test_records_without_timestamps_are_as_old_as_the_next_segment(self) -> None:
        shape = log(10, 20, 30, 40)
        created_ms = [1, NOW_MS - 2000, NOW_MS - 500, NOW_MS]
        undated = [each._replace(max_timestamp=-1, created_ms=created) for each, created in zip(shape.segments, created_ms, strict=True)]
        shape = replace(shape, segments=undated)
        assert section(shape, settings=LogSettings(min_compaction_lag_ms=2500)).first_uncleanable_offset == 0
        assert section(shape, settings=LogSettings(min_compaction_lag_ms=1000)).first_uncleanable_offset == 100
        assert section(shape, cleaned_to=100, settings=LogSettings(min_compaction_lag_ms=1000)).first_uncleanable_offset == 100
        assert section(shape).first_uncleanable_offset == 300

    def test_a_log_without_timestamps_keeps_its_records_for_min_compaction_lag(self) -> None:
        table = new_table(LogSettings(min_compaction_lag_ms=1000, min_cleanable_dirty_ratio=0.0))
        append(table, rows((b"key", b"1"), timestamps=[-1]))
        append(table, rows((b"key", b"2"), timestamps=[-1]))
        seal(table)
        closed_ms = table.segments.active.created_ms
        assert not measure(table, high_watermark=2, now_ms=closed_ms + 999).due(table.settings)
        assert measure(table, high_watermark=2, now_ms=closed_ms + 1000).due(table.settings)

    def test_a_checkpoint_below_the_log_start_is_ignored(self) -> None:
        found = section(log(10, 20, 30, start=120), cleaned_to=50)
        assert (found.first_dirty_offset, found.checkpoint_was_wrong) == (120, True)

    def test_a_checkpoint_beyond_the_log_end_makes_the_whole_log_dirty(self) -> None:
        found = section(log(10, 20, 30), cleaned_to=301)
        assert (found.first_dirty_offset, found.checkpoint_was_wrong) == (0, True)

    def test_a_log_start_inside_the_active_segment_leaves_nothing_cleanable(self) -> None:
        found = section(log(10, 20, 30, start=250))
        assert (found.first_uncleanable_offset, found.cleanable_bytes) == (200, 0)


class TestWhen:
    def test_more_than_the_ratio_must_be_dirty(self) -> None:
        settings = LogSettings(min_cleanable_dirty_ratio=0.5)
        assert not section(log(30, 30, 5), cleaned_to=100).due(settings)
        assert section(log(30, 31, 5), cleaned_to=100).due(settings)

    def test_a_ratio_of_zero_still_needs_a_dirty_part(self) -> None:
        assert not section(log(30, 30, 5), cleaned_to=200).due(LogSettings(min_cleanable_dirty_ratio=0.0))

    def test_a_record_that_waited_too_long_makes_its_log_due_at_any_ratio(self) -> None:
        settings = LogSettings(min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=1000)
        waiting = section(log(30, 1, 5, written_ms=[1, NOW_MS - 1001, NOW_MS]), cleaned_to=100, settings=settings)
        assert (waiting.overdue_ms, waiting.due(settings)) == (1, True)
        patient = section(log(30, 1, 5, written_ms=[1, NOW_MS - 1000, NOW_MS]), cleaned_to=100, settings=settings)
        assert (patient.overdue_ms, patient.due(settings)) == (0, False)

    def test_an_overdue_record_that_is_not_cleanable_yet_changes_nothing(self) -> None:
        settings = LogSettings(min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=1000)
        found = section(log(30, 1, 5, decided=0, written_ms=[1, 1, NOW_MS]), settings=settings)
        assert found.overdue_ms > 0
        assert not found.due(settings)

    def test_the_dirtiest_log_comes_first(self) -> None:
        settings = LogSettings(min_cleanable_dirty_ratio=0.1)
        sections = {"clean": DirtySection(0, 9, 100, 5), "half": DirtySection(0, 9, 50, 50), "filthy": DirtySection(0, 9, 1, 99)}
        assert dirtiest((name, each, settings) for name, each in sections.items()) == "filthy"
        assert dirtiest([("clean", sections["clean"], settings)]) is None


class TestGroups:
    @staticmethod
    def bases(shapes: Sequence[SegmentShape], *, size: int = 100, index: int = 1000, end: int = 10_000) -> list[list[int]]:
        groups = group_segments(shapes, size_bytes_max=size, index_bytes_max=index, first_uncleanable_offset=end)
        return [[each.base_offset for each in group] for group in groups]

    def test_small_neighbours_become_one_segment(self) -> None:
        assert self.bases(segments(40, 60, 1, 99, 100)) == [[0, 100], [200, 300], [400]]

    def test_a_segment_that_is_too_large_stays_alone(self) -> None:
        assert self.bases(segments(500, 10, 10)) == [[0], [100, 200]]

    @pytest.mark.parametrize("which", ["index_bytes", "time_index_bytes"])
    def test_indexes_must_fit_too(self, which: str) -> None:
        shapes = [each._replace(**{which: 400}) for each in segments(1, 1, 1)]
        assert self.bases(shapes) == [[0, 100], [200]]

    def test_offsets_must_fit_the_indexes(self) -> None:
        first, second, third = SegmentShape(0, 10, 1), SegmentShape(10, 20, 1), SegmentShape(FAR, FAR + 10, 1)
        # The second may reach up to the start of the third, as far as is known.
        assert self.bases([first, second, third], end=FAR + 10) == [[0, 10], [FAR]]
        assert self.bases([first, second], end=FAR + 2) == [[0], [10]]

    def test_an_empty_segment_spans_nothing(self) -> None:
        assert self.bases([SegmentShape(0, 10, 1), SegmentShape(10, 10, 0), SegmentShape(2 * FAR, 2 * FAR + 1, 1)], end=2 * FAR + 1) == [
            [0, 10],
            [2 * FAR],
        ]
