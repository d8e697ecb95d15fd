"""The fuzzer's short run, the same every time, and its long one, different every time."""

from __future__ import annotations

import random

import pytest

from barnabas.api.broker_apis import BROKER_HANDLERS
from barnabas.testing import EmbeddedBroker
from barnabas.wire.apis import ApiKey, stable_versions
from tests.hostile.conftest import GROWTH_BYTES_MAX, Victim
from tests.hostile.fuzzer import Fuzzer, Vocabulary, make_frame, read_request

SHORT_FRAMES = 16_000
LONG_FRAMES_PER_API = 50_000


def test_mutated_frames_of_every_api_and_version_leave_a_node_serving() -> None:
    with EmbeddedBroker(process=True) as kafka:
        victim = Victim(kafka)
        fuzzer = Fuzzer(kafka, seed=20_261_115)
        before = victim.memory_bytes()
        fuzzer.run(0, SHORT_FRAMES)
        assert victim.memory_bytes("VmHWM") - before < GROWTH_BYTES_MAX
    # A run in which no frame was understood would prove nothing.
    assert fuzzer.outcomes["answered"] > SHORT_FRAMES / 4
    assert fuzzer.outcomes["hung up"] > SHORT_FRAMES / 4
    assert fuzzer.outcomes["silence"] < SHORT_FRAMES / 100


def test_the_short_run_covers_every_version_of_every_api() -> None:
    words = Vocabulary()
    read = (read_request(make_frame(20_261_115, index, words, tuple(BROKER_HANDLERS)).body) for index in range(SHORT_FRAMES))
    spoken = {(key, version) for key, version, _ in filter(None, read)}
    assert spoken == {(key, version) for key in BROKER_HANDLERS for version in stable_versions(key).all()}


def test_a_frame_depends_on_its_seed_and_number_alone() -> None:
    def frame(seed: int, index: int) -> bytes:
        return make_frame(seed, index, Vocabulary(), (ApiKey.METADATA, ApiKey.FETCH)).body

    assert frame(3, 14) == frame(3, 14)
    assert len({frame(3, index) for index in range(50)} | {frame(4, index) for index in range(50)}) > 90


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("key", sorted(BROKER_HANDLERS), ids=lambda key: key.name.lower())
def test_many_frames_of_one_api_leave_the_node_serving(key: ApiKey) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    with EmbeddedBroker(process=True) as kafka:
        victim = Victim(kafka)
        fuzzer = Fuzzer(kafka, seed, (key,))
        before = victim.memory_bytes()
        fuzzer.run(0, LONG_FRAMES_PER_API)
        assert victim.memory_bytes("VmHWM") - before < GROWTH_BYTES_MAX, f"seed {seed}"
