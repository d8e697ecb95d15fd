"""The role of one replica, leader or follower, from the metadata."""

from __future__ import annotations

from barnabas.metadata.topics import PartitionImage
from barnabas.model.ids import NO_NODE
from barnabas.replication.leadership import Leadership


class Role:
    """Set by :meth:`~barnabas.replication.partition.Partition.follow_metadata`.

    :attr:`leadership` is None unless the replica leads.
    """

    __slots__ = ("alone", "image", "isr", "lag", "leader", "leader_epoch", "leadership", "leads", "replicas")

    def __init__(self) -> None:
        self.image: PartitionImage | None = None
        self.leads = False
        self.leader: int = NO_NODE
        self.leader_epoch = -1
        self.replicas: tuple[int, ...] = ()
        # The ISR that the controller committed, as far as this node knows.
        self.isr: tuple[int, ...] = ()
        self.leadership: Leadership | None = None
        # The partition has no other replica.
        self.alone = False
        # For a follower: the number of records that its leader has committed and it does not have.
        self.lag = 0

    def take(self, image: PartitionImage, *, node_id: int, online: bool) -> None:
        self.image = image
        self.replicas = image.replicas
        self.leader = image.leader
        self.leader_epoch = image.leader_epoch
        # A replica in a failed directory never leads, even if the metadata says so: nothing may be
        # written there.
        self.leads = image.leader == node_id and online
        self.alone = image.replicas == (node_id,)
