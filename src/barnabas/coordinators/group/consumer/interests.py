"""The distinct subscriptions of a group's members, each with the number of members that have it.

The members of a large group mostly read the same topics. The steps that follow subscriptions look
here and not at every member, so a member costs no more to join a large group than a small one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set as AbstractSet
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from barnabas.coordinators.group.consumer.member import ConsumerMember, Subscription
from barnabas.model.dataclass import dataclass

if TYPE_CHECKING:
    from barnabas.coordinators.group.consumer.consumer_group import ResolvedPattern


# The named topics, the pattern, and the preferred assignor.
Interest: TypeAlias = tuple[tuple[str, ...], str, str | None]


@dataclass(slots=True)
class Interests:
    _counts: Counter[Interest] = field(default_factory=Counter)

    def copy(self) -> Interests:
        return Interests(self._counts.copy())

    def change(self, before: ConsumerMember | None, after: ConsumerMember | None) -> None:
        """A member joins (``before`` is None), leaves (``after`` is None) or changes."""
        if before is not None and after is not None and before.subscription is after.subscription:
            return
        if after is not None:
            self._counts[_interest(after.subscription)] += 1
        if before is not None:
            interest = _interest(before.subscription)
            self._counts[interest] -= 1
            assert self._counts[interest] >= 0, "a member leaves that never joined"
            if not self._counts[interest]:
                del self._counts[interest]

    @property
    def votes(self) -> Counter[str]:
        """The members that prefer an assignor, by its name."""
        votes: Counter[str] = Counter()
        for (_, _, assignor), count in self._counts.items():
            if assignor is not None:
                votes[assignor] += count
        return votes

    @property
    def subscriptions(self) -> set[tuple[tuple[str, ...], str]]:
        """The named topics and the pattern of each."""
        return {(names, pattern) for names, pattern, _ in self._counts}

    @property
    def patterns(self) -> set[str]:
        return {pattern for _, pattern, _ in self._counts if pattern}

    def topics(self, resolved: Mapping[str, ResolvedPattern]) -> set[str]:
        return set().union(*(topics_read(names, pattern, resolved) for names, pattern, _ in self._counts))


def topics_of(subscription: Subscription, resolved: Mapping[str, ResolvedPattern]) -> AbstractSet[str]:
    return topics_read(subscription.topics, subscription.pattern, resolved)


def _interest(subscription: Subscription) -> Interest:
    return subscription.topics, subscription.pattern, subscription.assignor


def topics_read(names: tuple[str, ...], pattern: str, resolved: Mapping[str, ResolvedPattern]) -> AbstractSet[str]:
    found = resolved.get(pattern) if pattern else None
    return frozenset(names) if found is None else found.topics.union(names)
