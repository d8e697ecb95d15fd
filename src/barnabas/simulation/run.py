"""The levels at which clusters are simulated, and running one seed of one."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.simulation.cluster_world import ClusterWorld, ControllerWorld
from barnabas.simulation.groups_world import GroupsWorld
from barnabas.simulation.quorum_world import QuorumWorld
from barnabas.simulation.world import Report, Scenario, World

LEVELS: dict[str, type[World]] = {
    "quorum": QuorumWorld,
    "controller": ControllerWorld,
    "cluster": ClusterWorld,
    "groups": GroupsWorld,
}


def run(scenario: Scenario, say: Callable[[str], None] | None = None) -> Report:
    """Raises a :class:`~barnabas.simulation.violations.Violation` when a claim is broken."""
    world = LEVELS[scenario.level](scenario)
    if say is not None:
        world.listener = say
    return world.run()
