"""How long a quorum waits for what. The defaults are Kafka's."""

from __future__ import annotations

from dataclasses import dataclass

# A fetch at the end of the log waits so long at the leader for something new.
FETCH_WAIT_MS_MAX = 500
# A leader that no majority has fetched from for so many fetch timeouts has lost it.
CHECK_QUORUM_FETCH_TIMEOUTS = 1.5
# By so much of itself a follower's fetch timeout may be longer.
FETCH_TIMEOUT_JITTER = 0.1
# An observer that was silent for so long is forgotten.
OBSERVER_SESSION_MS = 300_000
# A replica must have fetched within this time to be taken for caught up when it wants to become a voter.
CAUGHT_UP_MS_MAX = 3_600_000
# More replicas than any cluster has: fetches under made-up ids must not fill the memory.
OBSERVERS_MAX = 10_000
# How far ahead of its own a node believes an epoch to be: more elections than a quorum holds in half a year, at one a second. Epochs only
# grow and nothing takes one back, so a number that somebody made up would use up all there are: behind 2^31-1 there is no election.
EPOCHS_AHEAD_MAX = 1 << 24
# No epoch above this is believed at all, so that a node which stands is never without a next one.
EPOCH_HEARD_MAX = 2**31 - 1 - EPOCHS_AHEAD_MAX
# The pieces of a snapshot are taken into memory when they are together; a leader that announces more than this is not believed.
SNAPSHOT_BYTES_MAX = 1 << 32
# As much of the log or of a snapshot is read into memory for one answer, whatever was asked for. Kafka's followers ask for a megabyte.
PIECE_BYTES_MAX = 8 * 1_048_576
# Fetches parked at once; the next ones are answered at once, empty, which is right too.
PARKED_FETCHES_MAX = 10_000


@dataclass(frozen=True, slots=True)
class QuorumSettings:
    election_timeout_ms: int = 1000
    fetch_timeout_ms: int = 2000
    election_backoff_max_ms: int = 1000
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    fetch_max_bytes: int = 1_048_576
    fetch_snapshot_max_bytes: int = 1_048_576
    # An observer that may become a voter asks to, by itself.
    auto_join: bool = False
