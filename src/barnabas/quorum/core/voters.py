"""The voters, with their identities and addresses.

A replica is a node id and the id of the directory that holds its log (KIP-853): a node that lost
its disk comes back with another directory, and must not be taken for the voter that made promises.
Voters that are configured (``controller.quorum.voters``, kraft.version 0) have no directory id, and
match any directory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from barnabas.model.dataclass import dataclass
from barnabas.model.ids import ZERO_UUID, NodeId, Uuid
from barnabas.wire.embedded.control_records import (
    Endpoint as RecordEndpoint,
    KRaftVersionFeature,
    VotersRecord,
    VotersVoter,
)

VOTERS_RECORD_VERSION = 0
# The voters are in the log, and may change, from this kraft.version on.
DYNAMIC_KRAFT_VERSION = 1
KRAFT_VERSION_MAX = 1


class ReplicaKey(NamedTuple):
    node_id: NodeId
    directory_id: Uuid = ZERO_UUID


class Endpoint(NamedTuple):
    """One listener of a controller."""

    name: str
    host: str
    port: int


class VersionRange(NamedTuple):
    lowest: int
    highest: int

    def holds(self, version: int) -> bool:
        return self.lowest <= version <= self.highest


# The versions that this code supports, and the versions that a merely configured voter is known to
# support.
SUPPORTED_KRAFT_VERSIONS = VersionRange(0, KRAFT_VERSION_MAX)
UNKNOWN_KRAFT_VERSIONS = VersionRange(0, 0)


@dataclass(frozen=True, slots=True)
class Voter:
    key: ReplicaKey
    endpoints: tuple[Endpoint, ...]
    kraft_versions: VersionRange = UNKNOWN_KRAFT_VERSIONS

    def is_replica(self, key: ReplicaKey) -> bool:
        return self.key.node_id == key.node_id and self.key.directory_id in (ZERO_UUID, key.directory_id)


class VoterSet(Mapping[NodeId, Voter]):
    """Immutable, and in the order of node ids, so that everything derived from it is
    deterministic."""

    __slots__ = ("_voters",)

    def __init__(self, voters: Iterable[Voter] = ()) -> None:
        self._voters = {voter.key.node_id: voter for voter in sorted(voters, key=lambda each: each.key)}

    def __getitem__(self, node_id: NodeId) -> Voter:
        return self._voters[node_id]

    def __iter__(self) -> Iterator[NodeId]:
        return iter(self._voters)

    def __len__(self) -> int:
        return len(self._voters)

    def __repr__(self) -> str:
        return f"VoterSet({list(self._voters.values())})"

    @property
    def majority(self) -> int:
        return len(self._voters) // 2 + 1

    def includes(self, key: ReplicaKey) -> bool:
        voter = self._voters.get(key.node_id)
        return voter is not None and voter.is_replica(key)

    def endpoints_of(self, node_id: NodeId) -> tuple[Endpoint, ...]:
        voter = self._voters.get(node_id)
        return voter.endpoints if voter is not None else ()

    def others(self, node_id: NodeId) -> list[Voter]:
        return [voter for voter in self._voters.values() if voter.key.node_id != node_id]

    def with_voter(self, voter: Voter) -> VoterSet:
        """The set with this voter added, or in place of an older entry for it."""
        return VoterSet({**self._voters, voter.key.node_id: voter}.values())

    def without(self, node_id: NodeId) -> VoterSet:
        return VoterSet(voter for voter in self._voters.values() if voter.key.node_id != node_id)


def configured_voters(listener_name: str, addresses: Iterable[tuple[NodeId, str, int]]) -> VoterSet:
    """The voters of ``controller.quorum.voters``."""
    return VoterSet(Voter(ReplicaKey(node_id), (Endpoint(listener_name, host, port),)) for node_id, host, port in addresses)


def address_of(endpoints: Iterable[Endpoint], listener_name: str) -> tuple[str, int] | None:
    return next(((each.host, each.port) for each in endpoints if each.name == listener_name), None)


def voters_record(voters: VoterSet) -> VotersRecord:
    return VotersRecord(
        version=VOTERS_RECORD_VERSION,
        voters=[
            VotersVoter(
                voter_id=voter.key.node_id,
                voter_directory_id=voter.key.directory_id,
                endpoints=[RecordEndpoint(name=each.name, host=each.host, port=each.port) for each in voter.endpoints],
                kraft_version_feature=KRaftVersionFeature(
                    min_supported_version=voter.kraft_versions.lowest, max_supported_version=voter.kraft_versions.highest
                ),
            )
            for voter in voters.values()
        ],
    )


def read_voters_record(record: VotersRecord) -> VoterSet:
    return VoterSet(
        Voter(
            ReplicaKey(NodeId(voter.voter_id), Uuid(voter.voter_directory_id)),
            tuple(Endpoint(each.name, each.host, each.port) for each in voter.endpoints),
            VersionRange(voter.kraft_version_feature.min_supported_version, voter.kraft_version_feature.max_supported_version),
        )
        for voter in record.voters
    )
