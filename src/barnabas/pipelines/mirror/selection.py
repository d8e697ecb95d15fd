"""Which topics are mirrored, and their names on the target.

One regular expression decides, here and inside Spark, where Java reads it as Python does: the
user's pattern after lookaheads for all topics that must never be mirrored. Those are the internal
topics of clusters and tools, and topics that came from the target.

Under ``rename`` a name shows where a topic came from: ``A.orders`` is A's ``orders``,
``B.A.orders`` the same by way of B. A topic with the target's alias before one of its dots came
from the target, and copying it would loop for ever. So would one with the source's own alias: it
left the source and came back, or both mirrors of a pair have the same aliases. Under ``identity``
names show nothing, and each record carries the clusters it came through (see ``provenance``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from barnabas.pipelines.errors import CannotRun

SEPARATOR = "."
# Kafka's own, Connect's, MirrorMaker's and ours.
_INTERNAL = r"(?!__)(?!.*[.-]internal$)(?!mm2-)(?!heartbeats$)(?!(?:.*\.)?barnabas\.(?:pipelines|mirror)\.)"
_ALIAS = re.compile(r"[A-Za-z0-9_-]+")
_COMMA_OF_A_LIST = re.compile(r",(?![^{]*\})")  # not the one in {2,3}


class Policy(StrEnum):
    RENAME = "rename"
    IDENTITY = "identity"


@dataclass(frozen=True, slots=True)
class TopicSelection:
    """``topics`` and ``exclude`` are regular expressions that match whole names."""

    topics: Sequence[str]
    policy: Policy
    source_alias: str
    target_alias: str
    exclude: Sequence[str] = ()

    def __post_init__(self) -> None:
        for option, alias in (("--from-alias", self.source_alias), ("--to-alias", self.target_alias)):
            if not _ALIAS.fullmatch(alias):
                raise CannotRun(f"{option} takes letters, digits, dashes and underscores, but was given {alias!r}.")
        for option, patterns in (("--topics", self.topics), ("--exclude", self.exclude)):
            for pattern in patterns:
                try:
                    re.compile(pattern)
                except re.error as error:
                    raise CannotRun(f"{option} takes regular expressions, but {pattern!r} is not one: {error}.") from error

    @property
    def pattern(self) -> str:
        excluded = "".join(f"(?!(?:{each})$)" for each in _listed(self.exclude))
        wanted = "|".join(f"(?:{each})" for each in _listed(self.topics))
        # Anchored: Spark searches for the pattern anywhere in a name.
        return f"^{_INTERNAL}{self._from_target}{excluded}(?:{wanted})$"

    @property
    def _from_target(self) -> str:
        if self.policy is Policy.IDENTITY:
            return ""
        aliases = "|".join(re.escape(each) for each in (self.target_alias, self.source_alias))
        return rf"(?!(?:[^.]+\.)*(?:{aliases})\.)"

    def wanted(self, names: Sequence[str]) -> list[str]:
        pattern = re.compile(self.pattern)
        return sorted(name for name in names if pattern.fullmatch(name))

    def target_name(self, topic: str) -> str:
        return topic if self.policy is Policy.IDENTITY else f"{self.source_alias}{SEPARATOR}{topic}"


def _listed(patterns: Sequence[str]) -> list[str]:
    """As in MirrorMaker: several separated by commas."""
    return [part.strip() for each in patterns for part in _COMMA_OF_A_LIST.split(each)]
