"""What a quorum node can be, and what it must remember while it is.

    unattached --election timeout--> prospective --majority would vote--> candidate --majority voted--> leader
    prospective --refused or timed out--> follower (of the leader it knew) or unattached
    candidate --election timeout--> prospective
    leader --no majority fetches, removed, or stopping--> resigned --election timeout--> unattached, next epoch
    any --a later epoch--> unattached, or follower when its leader is known
    follower --fetch timeout--> prospective

A node that is not in the voter set is an observer: it is only ever unattached or a follower. Pre-vote (KIP-996) is why a node that was
cut off, whose epoch would otherwise have grown, does not disturb a quorum that works when it comes back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from barnabas.model.ids import NO_NODE, NodeId
from barnabas.quorum.core.log_outline import OffsetAndEpoch
from barnabas.quorum.core.progress import Progress
from barnabas.quorum.core.voters import Endpoint, ReplicaKey, Voter, VoterSet
from barnabas.quorum.core.votes import Votes


@dataclass(slots=True)
class Unattached:
    """Nobody to follow. The leader may be known by its id but not by its address."""

    election_deadline_ms: int
    leader_id: NodeId = NO_NODE


@dataclass(slots=True)
class Prospective:
    """Asks whether a vote would be given."""

    votes: Votes
    election_deadline_ms: int
    leader_id: NodeId = NO_NODE
    leader_endpoints: tuple[Endpoint, ...] = ()


@dataclass(slots=True)
class Candidate:
    votes: Votes
    election_deadline_ms: int


@dataclass(slots=True)
class SnapshotDownload:
    snapshot: OffsetAndEpoch
    position: int = 0
    size_bytes: int | None = None  # as its first piece said


@dataclass(slots=True)
class Follower:
    leader_id: NodeId
    leader_endpoints: tuple[Endpoint, ...]
    fetch_deadline_ms: int
    # When to look whether what the leader knows of this voter is still right.
    update_voter_ms: int
    has_fetched: bool = False
    has_updated_leader: bool = False
    download: SnapshotDownload | None = None
    # The log is being truncated or a snapshot put in place: nothing can be asked before that is done.
    busy: bool = False


@dataclass(frozen=True, slots=True)
class ParkedFetch:
    """A follower that has everything, waiting for more."""

    token: int
    version: int
    offset: int
    epoch: int
    size_bytes_max: int
    deadline_ms: int


@dataclass(slots=True)
class VoterChange:
    """An addition or a removal under way: one at a time. ``end_offset`` is behind its record, once that is written."""

    token: int | None
    request: Any
    voter: Voter
    deadline_ms: int
    end_offset: int | None = None


@dataclass(slots=True)
class Leader:
    epoch_start_offset: int
    progress: Progress
    check_quorum_deadline_ms: int
    begin_epoch_ms: int
    # What the voters of kraft.version 0 told of themselves, for the day the quorum becomes dynamic.
    updated_voters: VoterSet
    heard: set[NodeId] = field(default_factory=set)
    parked: list[ParkedFetch] = field(default_factory=list)
    change: VoterChange | None = None
    # A batch of the own epoch is committed: from here on the high watermark is known.
    established: bool = False


@dataclass(slots=True)
class LeaderResigned:
    """Led this epoch and does no more; tells the others, so that they need not wait for a timeout."""

    election_deadline_ms: int
    successors: list[ReplicaKey]
    untold: set[NodeId]


Role = Unattached | Prospective | Candidate | Follower | Leader | LeaderResigned
