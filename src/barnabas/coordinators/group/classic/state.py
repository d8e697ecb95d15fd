"""The states of a classic group, and the table of what moves it.

| state | what comes | next | answers and records |
|---|---|---|---|
| Empty | first member | PreparingRebalance | waits `group.initial.rebalance.delay.ms`, longer while others come |
| PreparingRebalance | everybody joined, or time is up | CompletingRebalance | all joins; who is not there is out |
| PreparingRebalance | time is up and nobody is left | Empty | the group without members is written |
| CompletingRebalance | the leader's assignments | Stable | the group is written, then all syncs |
| CompletingRebalance | join, leave, death, no sync in time | PreparingRebalance | waiting syncs: REBALANCE_IN_PROGRESS |
| Stable | join that changes something, leave, death | PreparingRebalance | heartbeats: REBALANCE_IN_PROGRESS |
| any | deleted, or its shard unloaded | Dead | whoever waits |

A rebalance that nobody has to be waited for passes PreparingRebalance at once, so a group whose last member leaves is Empty in one step.
"""

from __future__ import annotations

from enum import Enum


class ClassicState(Enum):
    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


_PREVIOUS: dict[ClassicState, frozenset[ClassicState]] = {
    ClassicState.EMPTY: frozenset({ClassicState.PREPARING_REBALANCE}),
    ClassicState.PREPARING_REBALANCE: frozenset({ClassicState.EMPTY, ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE}),
    ClassicState.COMPLETING_REBALANCE: frozenset({ClassicState.PREPARING_REBALANCE}),
    ClassicState.STABLE: frozenset({ClassicState.COMPLETING_REBALANCE}),
    ClassicState.DEAD: frozenset(ClassicState),
}


def may_follow(before: ClassicState, after: ClassicState) -> bool:
    return before in _PREVIOUS[after]
