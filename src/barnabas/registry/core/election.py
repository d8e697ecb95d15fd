"""The election of the leader among several instances, by Kafka's group protocol.

Instances join a group of the protocol type ``sr``, each with its *identity*: where it can be
reached, and whether it may lead. The member that Kafka makes the group's leader decides and sends
every member the same *assignment*. The formats are Confluent's, so instances of both kinds can be
in one group while one takes over from the other.

The leader stays the leader as long as it is a member. Otherwise the eligible instance with the
smallest address leads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

PROTOCOL_TYPE: Final = "sr"
PROTOCOL_NAME: Final = "v0"
_IDENTITY_VERSION: Final = 1
_ASSIGNMENT_VERSION: Final = 1
_NO_ERROR, _DUPLICATE_URLS = 0, 1


@dataclass(frozen=True, slots=True)
class Identity:
    host: str
    port: int
    scheme: str = "http"
    eligible: bool = True
    leads: bool = False
    """Whether the instance was the leader when it joined."""

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"

    def encode(self) -> bytes:
        return _bytes(
            {
                "version": _IDENTITY_VERSION,
                "host": self.host,
                "port": self.port,
                "master_eligibility": self.eligible,
                "scheme": self.scheme,
                "isLeader": self.leads,
            }
        )

    @classmethod
    def decode(cls, data: bytes) -> Identity | None:
        """None for a member that this version does not understand; it cannot lead then."""
        try:
            read = json.loads(data)
            return cls(
                str(read["host"]),
                int(read["port"]),
                str(read.get("scheme") or "http"),
                bool(read.get("master_eligibility", read.get("leader_eligibility", True))),
                bool(read.get("isLeader", False)),
            )
        except (ValueError, KeyError, TypeError):
            return None


@dataclass(frozen=True, slots=True)
class Assignment:
    leader_id: str | None
    """The member id of the leader; None if no instance may lead."""
    leader: Identity | None
    duplicate_urls: bool = False

    def encode(self) -> bytes:
        identity: Mapping[str, Any] | None = json.loads(self.leader.encode()) if self.leader is not None else None
        error = _DUPLICATE_URLS if self.duplicate_urls else _NO_ERROR
        return _bytes({"version": _ASSIGNMENT_VERSION, "error": error, "master": self.leader_id, "master_identity": identity})

    @classmethod
    def decode(cls, data: bytes) -> Assignment | None:
        try:
            read = json.loads(data)
            identity = read.get("master_identity")
            leader = Identity.decode(_bytes(identity)) if identity is not None else None
            return cls(read.get("master"), leader, read.get("error") == _DUPLICATE_URLS)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None


def elect(members: Mapping[str, Identity]) -> Assignment:
    """``members`` are the identities by member id."""
    urls = [identity.url for identity in members.values()]
    if len(set(urls)) < len(urls):
        # Forwarding to such an address may reach the wrong instance.
        return Assignment(None, None, duplicate_urls=True)
    eligible = {member: identity for member, identity in members.items() if identity.eligible}
    if not eligible:
        return Assignment(None, None)
    leading = {member: identity for member, identity in eligible.items() if identity.leads}
    candidates = leading or eligible
    chosen = min(candidates, key=lambda member: candidates[member].url)
    return Assignment(chosen, candidates[chosen])


def _bytes(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
