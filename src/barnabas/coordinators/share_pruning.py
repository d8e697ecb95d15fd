"""Deletes the superseded records of ``__share_group_state``, as DeleteRecords would."""

from __future__ import annotations

from barnabas.coordinators.share.effects import PruneLog
from barnabas.model.topic_names import SHARE_GROUP_STATE
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.telemetry.logs import EventLog


class SharePruning:
    def __init__(self, replicas: LocalReplicas, log: EventLog) -> None:
        self._replicas = replicas
        self._log = log

    def perform(self, shard: int, effect: PruneLog) -> None:
        """The records up to the snapshots are committed, so the offset is below the high watermark.
        Followers learn the new start of the log with their next fetch.
        """
        replica = self._replicas.get(SHARE_GROUP_STATE, shard)
        if replica is None or not replica.leads:
            return
        try:
            start = replica.delete_records(effect.before_offset)
        except OSError as failure:
            self._replicas.disk_failed(replica.directory, failure)
        else:
            self._log.debug("share state pruned", partition=shard, log_start_offset=start)
