"""Parses the first voters of a quorum with dynamic voters, as given to ``storage format``.

The text has an ``id@host:port:directory`` for each voter, separated by commas.
"""

from __future__ import annotations

from barnabas.config.addresses import host_and_port
from barnabas.model.ids import NodeId, Uuid, parse_uuid
from barnabas.quorum.core.voters import SUPPORTED_KRAFT_VERSIONS, Endpoint, ReplicaKey, Voter, VoterSet


class WrongVoters(ValueError):
    """One sentence for the user."""


def parse_initial_voters(text: str, listener_name: str) -> VoterSet:
    voters = [_parse(entry.strip(), listener_name) for entry in text.split(",") if entry.strip()]
    if not voters:
        raise WrongVoters("No controllers are given.")
    for what, values in (
        ("node id", [voter.key.node_id for voter in voters]),
        ("directory", [voter.key.directory_id for voter in voters]),
        ("address", [voter.endpoints for voter in voters]),
    ):
        if len(set(values)) < len(voters):
            raise WrongVoters(f"Two controllers have the same {what}.")
    return VoterSet(voters)


def one_voter(node_id: NodeId, directory_id: Uuid, endpoint: Endpoint) -> Voter:
    return Voter(ReplicaKey(node_id, directory_id), (endpoint,), SUPPORTED_KRAFT_VERSIONS)


def _parse(entry: str, listener_name: str) -> Voter:
    wrong = f"{entry!r} is not id@host:port:directory"
    number, at, rest = entry.partition("@")
    address, colon, directory = rest.rpartition(":")
    place = host_and_port(address) if colon else None
    if not at or not number.isascii() or not number.isdigit() or place is None or not place[0]:
        raise WrongVoters(f"{wrong}.")
    try:
        directory_id = parse_uuid(directory)
    except ValueError as problem:
        raise WrongVoters(f"{wrong}: {problem}.") from problem
    return one_voter(NodeId(int(number)), directory_id, Endpoint(listener_name, *place))
