"""The share partitions that this broker leads, and the sessions of the members that fetch from
them.

A share partition is made when the first member of a group fetches it here, and forgotten when the
last session of its group ends, when this broker stops leading it, or when its topic is deleted. So
the sessions bound them: ``group.share.max.share.sessions``, times the partitions of a session.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.coordinators.share.persister import SharePartitionKey
from barnabas.metadata.applier import MetadataApplier
from barnabas.metadata.configs import ResourceType
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.features import SHARE_VERSION
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import all_of
from barnabas.network.connection import Connection
from barnabas.replication.reads import check_leader
from barnabas.sharing.core.sessions import SessionKey, SharedPartition, ShareSession, ShareSessions
from barnabas.sharing.core.settings import ShareGroupSettings
from barnabas.sharing.group_settings import share_group_settings
from barnabas.sharing.local_share_partition import LocalSharePartition, SharingPorts
from barnabas.sharing.share_fetch import Target

# Settings of groups that are remembered; they are forgotten together when settings change.
REMEMBERED_SETTINGS_MAX = 10_000


class LocalSharePartitions:
    def __init__(self, ports: SharingPorts, metadata: MetadataApplier, *, sessions_max: int) -> None:
        self.ports = ports
        self.sessions = ShareSessions(sessions_max)
        self._metadata = metadata
        self._partitions: dict[SharePartitionKey, LocalSharePartition] = {}
        self._of_group: dict[str, dict[SharePartitionKey, None]] = {}
        self._settings: dict[str, ShareGroupSettings] = {}
        self._watched: set[Connection] = set()

    def __len__(self) -> int:
        return len(self._partitions)

    def get(self, group_id: str, partition: SharedPartition) -> LocalSharePartition | None:
        return self._partitions.get(SharePartitionKey(group_id, *partition))

    def settings_of(self, group_id: str) -> ShareGroupSettings:
        found = self._settings.get(group_id)
        if found is None:
            if len(self._settings) >= REMEMBERED_SETTINGS_MAX:
                self._settings.clear()
            found = self._settings[group_id] = share_group_settings(group_id, self._metadata.effective)
        return found

    def target(self, group_id: str, partition: SharedPartition) -> Target:
        """The share partition that a member fetches from, which begins now if it is new here."""
        key = SharePartitionKey(group_id, *partition)
        share = self._partitions.get(key)
        if share is not None and share.outdated:
            share.fence()
            share = None
        if share is not None:
            return Target(partition, share)
        replica = self.ports.replicas.by_id(*partition)
        error = check_leader(replica, -1)
        if replica is None or error:
            return Target(partition, error)
        share = LocalSharePartition(key, replica, self.settings_of(group_id), self.ports, self._forget)
        self._partitions[key] = share
        self._of_group.setdefault(group_id, {})[key] = None
        share.begin()
        return Target(partition, share)

    def _forget(self, share: LocalSharePartition) -> None:
        if self._partitions.get(share.key) is share:
            del self._partitions[share.key]
            keys = self._of_group[share.key.group_id]
            del keys[share.key]
            if not keys:
                del self._of_group[share.key.group_id]

    # -- sessions ----------------------------------------------------------------------------------

    def open_session(self, key: SessionKey, partitions: Sequence[SharedPartition], connection: Connection) -> ShareSession | ErrorCode:
        session = self.sessions.open(key, partitions, connection)
        if isinstance(session, ShareSession) and connection not in self._watched:
            self._watched.add(connection)
            connection.if_lost(lambda: self._disconnected(connection))
        return session

    def _disconnected(self, connection: Connection) -> None:
        self._watched.discard(connection)
        for session in self.sessions.disconnected(connection):
            self._release(session)

    def close_session(self, key: SessionKey) -> None:
        session = self.sessions.remove(key)
        if session is not None:
            self._release(session)

    def _release(self, session: ShareSession) -> None:
        """Others get the records of the member at once. The last session of a group takes its share
        partitions with it, once the releases are written."""
        group_id, member_id = session.key
        shares = [self._partitions[key] for key in self._of_group.get(group_id, ())]
        released = all_of([share.release(member_id) for share in shares])
        if not self.sessions.has_members(group_id):
            released.then(lambda _: self._forget_group(group_id))

    def _forget_group(self, group_id: str) -> None:
        if not self.sessions.has_members(group_id):
            for key in list(self._of_group.get(group_id, ())):
                self._partitions[key].fence()

    # -- metadata ----------------------------------------------------------------------------------

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        """After the replicas: it fences the share partitions whose replicas do not lead any
        more."""
        if image.features.level(SHARE_VERSION) < 1:
            self._end_all()
            return
        for topic in delta.topics.deleted.values():
            for share in [share for share in self._partitions.values() if share.key.topic_id == topic.topic_id]:
                share.fence(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if not delta.topics.empty:
            for share in list(self._partitions.values()):
                if share.outdated:
                    share.fence()
        if delta.configs.changed:
            self._settings.clear()
            groups = {resource.name for resource in delta.configs.changed if resource.type == ResourceType.GROUP}
            brokers = any(resource.type == ResourceType.BROKER for resource in delta.configs.changed)
            for share in self._partitions.values():
                if brokers or share.key.group_id in groups:
                    share.settings = share_group_settings(share.key.group_id, effective)

    def _end_all(self) -> None:
        for session in list(self.sessions):
            self.sessions.remove(session.key)
        for share in list(self._partitions.values()):
            share.fence()

    def stop(self) -> None:
        self._end_all()
