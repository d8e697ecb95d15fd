"""Which settings of a topic are copied."""

from __future__ import annotations

from barnabas.pipelines.mirror.topic_settings import change_needed


def test_only_differing_settings_are_changed() -> None:
    change = change_needed({"retention.ms": "1", "cleanup.policy": "compact"}, {"cleanup.policy": "compact", "segment.bytes": "9"})
    assert dict(change.set) == {"retention.ms": "1"}
    assert change.unset == {"segment.bytes"}
    assert not change_needed({"retention.ms": "1"}, {"retention.ms": "1"})


def test_settings_of_the_cluster_are_not_copied() -> None:
    assert not change_needed(
        {"min.insync.replicas": "2", "message.timestamp.type": "LogAppendTime"}, {"unclean.leader.election.enable": "true"}
    )
