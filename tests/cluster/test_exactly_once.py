"""Consume, transform, produce: copiers and the node are killed with ``kill -9``, and every record
is copied once, in order.
"""

from __future__ import annotations

import random

import pytest

from peers.apache_kafka import why_missing
from tests.cluster.copiers import Kind
from tests.cluster.copying import copied_and_killed

DEEDS = ("kill copier", "kill node", "kill copier and node", "zombie")
LONG_ROUNDS = 100

needs_java = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]
COPIERS = {
    "classic": [Kind(), Kind(static=True), Kind()],
    # There are no static members here: until the session of a killed one ends, its successor with
    # the same name is refused.
    "consumer": [Kind(protocol="consumer"), Kind(protocol="consumer")],
    # The Java client uses version 2 of transactions, and librdkafka version 0.
    "classic, Java": [Kind("java"), Kind(), Kind("java", static=True)],
    "consumer, Java": [Kind("java", protocol="consumer"), Kind(protocol="consumer")],
}
PARAMETERS = {name: pytest.param(kinds, id=name, marks=needs_java if "Java" in name else []) for name, kinds in COPIERS.items()}
# Both protocols and both clients, in half a minute.
SHORT = [PARAMETERS[name] for name in ("classic", "consumer, Java")]


@pytest.mark.parametrize("kinds", SHORT)
def test_every_record_is_copied_once_when_copiers_or_the_broker_are_killed(kinds: list[Kind]) -> None:
    copied_and_killed(kinds, ("kill copier", "kill node", "zombie", "kill copier and node", "kill node", "kill copier"), seed=7)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kinds", PARAMETERS.values())
def test_every_record_is_copied_once_in_many_rounds_of_kills(kinds: list[Kind]) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    chance = random.Random(seed)
    copied_and_killed(kinds, [chance.choice(DEEDS) for _ in range(LONG_ROUNDS)], seed)
