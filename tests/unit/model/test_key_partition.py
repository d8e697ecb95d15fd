from __future__ import annotations

import pytest

from barnabas.model.key_partition import murmur2, partition_of


@pytest.mark.parametrize(
    ("key", "hashed"),
    # From the tests of Kafka's own Utils.murmur2.
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_partition_of_a_key_is_that_of_javas_producer(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed & 0xFFFF_FFFF
    assert partition_of(key, 7) == (hashed & 0x7FFF_FFFF) % 7
