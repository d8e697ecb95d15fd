"""The role of one replica: leader or follower, and the metadata that says so."""

from __future__ import annotations

from barnabas.metadata.topics import PartitionImage
from barnabas.model.ids import NO_NODE
from barnabas.replication.leadership import Leadership


class Role:
    """Set by :meth:`~barnabas.replication.partition.Partition.follow_metadata`; :attr:`leadership` is there while the replica leads."""

    __slots__ = ("alone", "image", "isr", "lag", "leader", "leader_epoch", "leadership", "leads", "replicas")

    def __init__(self) -> None:
        self.image: PartitionImage | None = None
        self.leads = False
        self.leader: int = NO_NODE
        self.leader_epoch = -1
        self.replicas: tuple[int, ...] = ()
        # As the controller committed it, as far as this node knows.
        self.isr: tuple[int, ...] = ()
        self.leadership: Leadership | None = None
        # This replica is the only one.
        self.alone = False
        # Of a follower: how many records its leader has committed that are not here.
        self.lag = 0

    def take(self, image: PartitionImage, *, node_id: int, online: bool) -> None:
        self.image = image
        self.replicas = image.replicas
        self.leader = image.leader
        self.leader_epoch = image.leader_epoch
        # In a directory that failed nothing is led, whatever the metadata says: nothing may be written there.
        self.leads = image.leader == node_id and online
        self.alone = image.replicas == (node_id,)
