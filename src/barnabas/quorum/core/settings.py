"""The timeouts and limits of a quorum. The defaults are Kafka's."""

from __future__ import annotations

from barnabas.model.dataclass import dataclass

# How long a fetch at the end of the log waits at the leader for new records.
FETCH_WAIT_MS_MAX = 500
# A leader resigns when no majority has fetched from it for this many fetch timeouts.
CHECK_QUORUM_FETCH_TIMEOUTS = 1.5
# The fraction by which a follower's fetch timeout may be longer.
FETCH_TIMEOUT_JITTER = 0.1
# When the leader is gone, each voter waits this much longer than the one with the next lower id, so
# that they do not split the vote. An election takes a few round trips and flushes.
SUCCESSION_STEP_MS = 50
# An observer that has not fetched for this long is forgotten.
OBSERVER_SESSION_MS = 300_000
# A replica that wants to become a voter counts as caught up only if it has fetched within this
# time.
CAUGHT_UP_MS_MAX = 3_600_000
# More replicas than any cluster has: fetches under made-up ids must not fill the memory.
OBSERVERS_MAX = 10_000
# How far an epoch from a peer may be ahead of a node's own: more elections than a quorum holds in
# half a year, at one a second. Epochs only grow and never go back, so a made-up number could use up
# all that are left: after 2^31-1 no election is possible.
EPOCHS_AHEAD_MAX = 1 << 24
# No epoch from a peer above this is accepted, so that a node that stands for election always has a
# next epoch.
EPOCH_ACCEPTED_MAX = 2**31 - 1 - EPOCHS_AHEAD_MAX
# The limit for a snapshot that a leader announces. The pieces of a snapshot are read into memory
# once it is complete.
SNAPSHOT_BYTES_MAX = 1 << 32
# The limit for the part of the log or of a snapshot that is read into memory for one response,
# whatever the request asks for. Kafka's followers ask for a megabyte.
PIECE_BYTES_MAX = 8 * 1_048_576
# The limit for parked fetches. Further ones get an empty response at once, which is correct too.
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
    # An observer that may become a voter asks the leader to add it.
    auto_join: bool = False
