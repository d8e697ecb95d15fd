"""Share groups and streams groups in a directory that Apache Kafka and Barnabas use in turn.

The program that takes over the directory reports the same share groups, with their members, epochs
and offsets, and serves the members. It describes the same streams groups, and their members go on
with their tasks: no change of the program starts a rebalance. Both kinds of groups make one
journey, because each start of Kafka costs five seconds of a processor.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from peers.apache_kafka import free_port, why_missing
from tests.conformance.directories import share_groups, streams_groups
from tests.conformance.directories.test_coordinators import Traveller, kafka, travelling
from tests.conformance.directories.test_journeys import KILL, STOP, barnabas

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]


class Journey:
    """The groups written so far, and what the last program reported about them."""

    def __init__(self) -> None:
        self._rounds: list[str] = []
        self._shared: Any = None
        self._streams: Any = None

    def stay(self, traveller: Traveller, round_: str) -> None:
        """At the next program: everything is as before, members continue, and a round of new groups
        is written."""
        if self._rounds:
            assert share_groups.everything(traveller, self._rounds) == self._shared
            assert streams_groups.shown(traveller) == self._streams
            share_groups.go_on(traveller, self._rounds[-1])
            streams_groups.go_on(traveller, self._rounds[-1])
        self._rounds.append(round_)
        share_groups.write(traveller, round_)
        streams_groups.write(traveller, round_)
        self._shared = share_groups.everything(traveller, self._rounds)
        self._streams = streams_groups.shown(traveller)


def test_share_groups_and_streams_groups_survive_kafka_to_barnabas_and_back(tmp_path: Path) -> None:
    data, port, journey = tmp_path / "data", free_port(), Journey()
    with kafka(data, port, KILL, format_storage=True) as bootstrap:
        first = Traveller(bootstrap)
        first.found()
        first.close()
        with travelling(bootstrap) as traveller:
            journey.stay(traveller, "kafka's")
    with barnabas(data, port, STOP) as bootstrap, travelling(bootstrap) as traveller:
        journey.stay(traveller, "ours")
    with kafka(data, port, STOP) as bootstrap, travelling(bootstrap) as traveller:
        journey.stay(traveller, "kafka's second")
    with barnabas(data, port, KILL) as bootstrap, travelling(bootstrap) as traveller:
        journey.stay(traveller, "our second")
