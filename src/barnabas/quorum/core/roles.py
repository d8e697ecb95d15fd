"""The roles of a quorum node, and the state of each.

    unattached  --election timeout-->             prospective
    prospective --majority would vote for it-->   candidate
    prospective --refused or timed out-->         follower (of the leader it knew) or unattached
    candidate   --majority voted for it-->        leader
    candidate   --election timeout-->             prospective
    leader      --no majority fetches, removed, or stopping-->  resigned
    resigned    --election timeout-->             unattached, in the next epoch
    follower    --fetch timeout, or the leader is gone-->  prospective
    any         --a later epoch-->                unattached, or follower when its leader is known

A node that is not in the voter set is an observer: it is only ever unattached or a follower.
Because of pre-vote (KIP-996), a node that was cut off does not increase its epoch, and so does not
disturb a working quorum when it comes back.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from barnabas.model.dataclass import dataclass
from barnabas.model.ids import NO_NODE, NodeId
from barnabas.quorum.core.log_outline import OffsetAndEpoch
from barnabas.quorum.core.progress import Progress
from barnabas.quorum.core.voters import Endpoint, ReplicaKey, Voter, VoterSet
from barnabas.quorum.core.votes import Votes


@dataclass(slots=True)
class Unattached:
    """There is no leader to follow. Its id may be known while its address is not."""

    election_deadline_ms: int
    leader_id: NodeId = NO_NODE


@dataclass(slots=True)
class Prospective:
    """Asks whether the voters would grant it a vote."""

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
    size_bytes: int | None = None  # from its first piece


@dataclass(slots=True)
class Follower:
    leader_id: NodeId
    leader_endpoints: tuple[Endpoint, ...]
    fetch_deadline_ms: int
    # When to check next whether the voter set describes this node correctly.
    update_voter_ms: int
    has_fetched: bool = False
    has_updated_leader: bool = False
    download: SnapshotDownload | None = None
    # A truncation or the installation of a snapshot is in progress: no request is sent before it is
    # done.
    busy: bool = False


@dataclass(frozen=True, slots=True)
class ParkedFetch:
    """A fetch at the end of the log, waiting for more."""

    token: int
    version: int
    listener_name: str | None
    offset: int
    epoch: int
    size_bytes_max: int
    deadline_ms: int


@dataclass(slots=True)
class VoterChange:
    """An addition or a removal in progress: one at a time. ``end_offset`` is behind its record,
    once that is written."""

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
    # What the voters of kraft.version 0 reported about themselves, for the upgrade to a dynamic
    # quorum.
    updated_voters: VoterSet
    fetched_voters: set[NodeId] = field(default_factory=set)
    parked: list[ParkedFetch] = field(default_factory=list)
    change: VoterChange | None = None
    # A batch of the leader's own epoch is committed: from here on the high watermark is known.
    established: bool = False


@dataclass(slots=True)
class LeaderResigned:
    """A leader that has resigned from this epoch. It tells the other voters, so that they need not
    wait for a timeout."""

    election_deadline_ms: int
    successors: list[ReplicaKey]
    unacked_voters: set[NodeId]


Role = Unattached | Prospective | Candidate | Follower | Leader | LeaderResigned
