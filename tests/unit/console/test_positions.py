from __future__ import annotations

import pytest

from barnabas.console.core.positions import chosen_partitions, newest_starts, positions_text, read_positions, read_share, unfinished, within
from barnabas.console.core.topic import Bounds
from barnabas.console.errors import BadValue

_BOUNDS = {0: Bounds(10, 100), 1: Bounds(0, 5)}


def test_positions_are_read_and_written() -> None:
    assert read_positions("2:5,0:17") == {2: 5, 0: 17}
    assert positions_text({2: 5, 0: 17}) == "0:17,2:5"
    assert positions_text(dict.fromkeys(range(1_000), 1)) is None
    for text in ("x", "1", "1:-2", "0:1;", ",".join(["0:1"] * 500)):
        with pytest.raises(BadValue):
            read_positions(text)


def test_positions_stay_within_what_a_partition_has() -> None:
    assert within({0: 3, 1: 99, 7: 1}, _BOUNDS) == {0: 10, 1: 5}
    assert newest_starts(_BOUNDS, 20) == {0: 80, 1: 0}
    assert unfinished({0: 99, 1: 5}, {0: 100, 1: 5}) == {0: 99}


def test_the_share_of_a_search_grows_from_nothing_to_all() -> None:
    starts, ends = {0: 10, 1: 0}, {0: 100, 1: 10}
    assert read_share(starts, starts, ends) == 0.0
    assert read_share(starts, {0: 55, 1: 5}, ends) == 0.5
    assert read_share(starts, ends, ends) == 1.0
    assert read_share({}, {}, {}) == 1.0


def test_partitions_are_numbers_and_ranges() -> None:
    assert chosen_partitions("", range(3)) == [0, 1, 2]
    assert chosen_partitions("0, 2-99", range(4)) == [0, 2, 3]
    for text in ("x", "7", "1-", "-1"):
        with pytest.raises(BadValue):
            chosen_partitions(text, range(3))


# Computed by Kafka's own class org.apache.kafka.common.utils.Utils.
