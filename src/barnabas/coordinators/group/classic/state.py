"""The states of a classic group and its transitions.

| state               | event                        | next                | responses, records  |
|---------------------|------------------------------|---------------------|---------------------|
| Empty               | first member (1)             | PreparingRebalance  |                     |
| PreparingRebalance  | all joined, or timeout       | CompletingRebalance | all joins (2)       |
| PreparingRebalance  | timeout without members      | Empty               | record of the group |
| CompletingRebalance | the leader's assignments     | Stable              | record, then syncs  |
| CompletingRebalance | join, leave, session end (3) | PreparingRebalance  | syncs (4)           |
| Stable              | join (5), leave, session end | PreparingRebalance  | heartbeats (4)      |
| any                 | deletion, or shard unloaded  | Dead                | all requests        |

1. The group waits `group.initial.rebalance.delay.ms`, and longer while more members join.
2. Absent members are removed.
3. Or a member that does not sync in time.
4. With REBALANCE_IN_PROGRESS.
5. Of a new member or of the leader, or with changed protocols.

A rebalance that need not wait for any member passes PreparingRebalance at once, so a group whose
last member leaves is Empty in one step.
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
