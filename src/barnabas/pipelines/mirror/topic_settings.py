"""Which settings of a topic are copied to the other cluster.

Only those that were set on the topic: a default belongs to its cluster. And of these not the ones
that depend on the cluster (how many replicas must be in sync, which ones are throttled, where old
segments go), nor those that would change or refuse a mirrored record's timestamp.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

NOT_MIRRORED = frozenset(
    {
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
        "min.insync.replicas",
        "unclean.leader.election.enable",
        "remote.storage.enable",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "local.retention.ms",
        "local.retention.bytes",
        "message.timestamp.type",
        "message.timestamp.difference.max.ms",
        "message.timestamp.before.max.ms",
        "message.timestamp.after.max.ms",
    }
)


@dataclass(frozen=True, slots=True)
class SettingsChange:
    set: Mapping[str, str]
    unset: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.set or self.unset)


def mirrored_settings(settings: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if name not in NOT_MIRRORED}


def change_needed(source: Mapping[str, str], target: Mapping[str, str]) -> SettingsChange:
    """``source`` and ``target``: the settings of the topic here and there. A setting that is unset
    at the source is unset at the target."""
    wanted = mirrored_settings(source)
    return SettingsChange(
        {name: value for name, value in wanted.items() if target.get(name) != value},
        frozenset(mirrored_settings(target)) - set(wanted),
    )
