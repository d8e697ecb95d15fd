"""Compares the journals of share consumers with the records that were produced.

Kafka promises about a share group, whichever members and brokers die:

- every record is delivered at least once;
- a record whose ACCEPT or REJECT was confirmed is not delivered again, so one member at most has
  such a confirmation;
- no record is delivered with a higher delivery count than the limit;
- a record without a final acknowledgement has been delivered as often as the limit allows.

The delivery count orders deliveries, where clocks cannot: a client may hold a record for a while
before its application sees it, and by then another member may have got and acknowledged it. That
later delivery has a higher count. A count is persisted with the next change of the record's state,
so the next leader of a partition may repeat the count of a delivery that its predecessor did not
write down. While a partition keeps its leader, each count belongs to one delivery.

An acknowledgement without an answer, or with an error, may have had its effect: a client sends it
again after a lost response, and the second one is refused.

A member that held a record for longer than its lock may get a confirmation without effect: Kafka
confirms acknowledgements of records that the group is done with. Such a *stale* confirmation comes
after another final acknowledgement of the same or a later delivery was tried, or after the last
delivery that the limit allows.

An acknowledgement counts for the member, not for the delivery. A member whose lock ended may have
the record again, in its client's buffer and with a higher count, when its first acknowledgement
arrives: then that one is effective, and the member sees the later delivery afterwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from tests.cluster.share_journal import FINAL, GOT, RENEW, TRY, YES, Line, Where


@dataclass(slots=True)
class Story:
    """What the journals tell about one record."""

    deliveries: list[tuple[str, int]] = field(default_factory=list)
    """Member and delivery count, in the order of time, without those that a renewal repeated."""
    tried: dict[str, tuple[str, int]] = field(default_factory=dict)
    """By member, the acknowledgement that it sent last, and the count of the delivery."""
    tried_finally: list[tuple[int, str, int]] = field(default_factory=list)
    """Time, member and delivery count of each final acknowledgement that a member sent."""
    confirmed: dict[tuple[str, str, int], int] = field(default_factory=dict)
    """The time of each confirmation, by member, kind and delivery count."""

    @property
    def may_be_final(self) -> bool:
        return bool(self.tried_finally)

    @property
    def highest_count(self) -> int:
        return max((count for _, count in self.deliveries), default=0)

    def effective(self, limit: int) -> list[tuple[str, str, int]]:
        """The final confirmations that are not stale."""
        return [each for each, at_ns in self.confirmed.items() if each[1] in FINAL and not self._is_stale(each, at_ns, limit)]

    def _is_stale(self, confirmed: tuple[str, str, int], at_ns: int, limit: int) -> bool:
        member, _, count = confirmed
        if count < self.highest_count >= limit:
            return True
        return any(tried_at < at_ns and (other, its) != (member, count) and its >= count for tried_at, other, its in self.tried_finally)


def stories(lines: Sequence[Line]) -> dict[Where, Story]:
    found: dict[Where, Story] = defaultdict(Story)
    holds: dict[tuple[str, Where], int] = {}  # the count of the delivery that a member has last
    for line in lines:
        story, key = found[line.where], (line.member, line.where)
        match line.verb:
            case "got":
                count = int(line.detail)
                renewed = story.tried.get(line.member) == (RENEW, count)
                holds[key] = count
                if not renewed:
                    story.deliveries.append((line.member, count))
            case "try":
                story.tried[line.member] = (line.detail, holds[key])
                if line.detail in FINAL:
                    story.tried_finally.append((line.at_ns, line.member, holds[key]))
            case "yes":
                story.confirmed.setdefault((line.member, *story.tried[line.member]), line.at_ns)
    return dict(found)


def unsettled(produced: Collection[Where], lines: Sequence[Line], *, limit: int) -> list[Where]:
    """Records that will be delivered, as far as the journals tell."""
    known = stories(lines)
    return [where for where in produced if where not in known or not (known[where].may_be_final or known[where].highest_count >= limit)]


def anomalies(produced: Collection[Where], lines: Sequence[Line], *, limit: int, moved: Collection[int]) -> list[str]:
    """One sentence for each broken promise; call it when nothing is unsettled any more. ``moved``
    are the partitions that changed their leader, or its epoch."""
    known = stories(lines)
    found = [f"{_name(where)} was never delivered" for where in produced if where not in known]
    found += [f"{_name(where)} was delivered, but not produced" for where in known if where not in produced]
    for where, story in sorted(known.items()):
        found += _about(where, story, limit, moved=where.partition in moved)
    return found


def _about(where: Where, story: Story, limit: int, *, moved: bool) -> list[str]:
    found = []
    if story.highest_count > limit:
        found.append(f"{_name(where)} was delivered {story.highest_count} times, where the limit is {limit}")
    effective = story.effective(limit)
    if len(effective) > 1:
        found.append(f"{_name(where)} was finally acknowledged by several: {effective}")
    for member, kind, count in effective:
        later = [each for each in story.deliveries if each[1] > count and each[0] != member]
        if later:
            found.append(f"{_name(where)} was delivered again after {member} got {kind} of delivery {count} confirmed: {later}")
    if not moved:
        counts = [count for _, count in story.deliveries]
        if len(set(counts)) < len(counts):
            found.append(f"{_name(where)} has two deliveries of one count: {story.deliveries}")
    if not story.may_be_final and story.highest_count < limit:
        found.append(f"{_name(where)} was not acknowledged and not delivered again: {story.deliveries}, {story.tried}")
    return found


def summary(lines: Sequence[Line]) -> str:
    """For a report: a run without redeliveries shows little."""
    told = stories(lines)
    deliveries = sum(len(story.deliveries) for story in told.values())
    kinds: dict[str, int] = defaultdict(int)
    for story in told.values():
        for _, kind, _ in story.confirmed:
            kinds[kind] += 1
    refused = sum(line.verb not in (GOT, TRY, YES) for line in lines)
    return f"{len(told)} records, {deliveries} deliveries, confirmed {dict(kinds)}, {refused} refused"


def _name(where: Where) -> str:
    return f"record {where.offset} of partition {where.partition}"
