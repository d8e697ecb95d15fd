"""Time and randomness as ports."""

from __future__ import annotations

from barnabas.env.clock import SystemClock
from barnabas.env.entropy import SystemEntropy, random_uuid


class ScriptedEntropy:
    """Returns scripted values, in order."""

    def __init__(self, *values: bytes) -> None:
        self._values = list(values)

    def bytes(self, size: int) -> bytes:
        value = self._values.pop(0)
        assert len(value) == size
        return value

    def below(self, bound: int) -> int:
        raise NotImplementedError


def test_both_clocks_count_milliseconds_and_the_monotonic_one_never_goes_back() -> None:
    clock = SystemClock()
    assert 1_600_000_000_000 < clock.wall_ms() < 10_000_000_000_000
    readings = [clock.monotonic_ms() for _ in range(1000)]
    assert readings == sorted(readings)


def test_random_numbers_stay_below_their_bound() -> None:
    entropy = SystemEntropy()
    assert {entropy.below(3) for _ in range(200)} == {0, 1, 2}
    assert len(entropy.bytes(16)) == 16


def test_a_random_uuid_is_not_reserved_and_begins_with_no_dash() -> None:
    zero, metadata = bytes(16), bytes(15) + b"\x01"
    dash = b"\xfb" + bytes(15)
    good = bytes(range(16))
    assert random_uuid(ScriptedEntropy(zero, metadata, dash, good)) == good
