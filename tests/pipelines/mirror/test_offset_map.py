"""Translation of source offsets to the target: exact where known, earlier elsewhere, never
later.
"""

from __future__ import annotations

import random

from barnabas.pipelines.mirror.offset_map import SEGMENTS_MAX, SEGMENTS_PER_BATCH_MAX, BatchSegments, OffsetMap, Segment


def test_offsets_inside_a_segment_and_at_its_end_are_exact() -> None:
    offsets = OffsetMap()
    offsets.add(Segment(source=100, target=0, count=10))
    offsets.add(Segment(source=120, target=11, count=5))
    assert [offsets.translate(each) for each in (100, 105, 110, 115, 120, 124, 125, 900)] == [0, 5, 10, 10, 11, 15, 16, 16]


def test_offsets_before_the_first_segment_have_no_translation() -> None:
    offsets = OffsetMap()
    assert offsets.translate(7) is None
    offsets.add(Segment(source=100, target=3, count=10))
    assert offsets.translate(7) == 3


def test_a_batch_without_gaps_is_one_segment() -> None:
    batch = BatchSegments()
    for source, target in [(1, 11), (2, 12), (4, 13), (5, 14), (6, 20)]:
        batch.add(source, target)
    assert batch.segments == [Segment(1, 11, 2), Segment(4, 13, 2), Segment(6, 20, 1)]


def test_a_batch_with_many_gaps_keeps_few_segments_and_misses_nothing() -> None:
    batch, offsets = BatchSegments(), OffsetMap()
    for number in range(10_000):
        batch.add(number * 2, number)
    assert len(batch.segments) <= 2 * SEGMENTS_PER_BATCH_MAX
    for segment in batch.segments:
        offsets.add(segment)
    assert all((offsets.translate(number * 2) or 0) <= number for number in range(10_000))
    assert offsets.translate(2 * 9_999) == 9_999
    assert offsets.translate(2 * 9_999 + 1) == 10_000


def test_a_thinned_map_never_translates_too_far() -> None:
    chance = random.Random(7)
    offsets, source, target = OffsetMap(), 0, 0
    places: dict[int, int] = {}
    for _ in range(5 * SEGMENTS_MAX):
        count = chance.randint(1, 20)
        offsets.add(Segment(source, target, count))
        places |= {source + each: target + each for each in range(count)}
        source, target = source + count + chance.randint(0, 3), target + count + 1
        offsets.thin()
    assert len(offsets) <= SEGMENTS_MAX
    assert all((offsets.translate(at) or 0) <= place for at, place in places.items())
    assert offsets.translate(0) == 0
    last = max(places)
    assert offsets.translate(last) == places[last]
    assert offsets.translate(last + 1) == places[last] + 1
