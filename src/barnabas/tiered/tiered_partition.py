"""A partition of this broker whose closed segments are remote, or will be: its catalogue, and the
consequences for the local log."""

from __future__ import annotations

from collections.abc import Callable

from barnabas.model.ids import TopicPartition
from barnabas.replication.partition import Partition
from barnabas.storage.leader_epochs import EpochStart
from barnabas.tiered.copy_plan import LocalSegment
from barnabas.tiered.metadata.catalogue import RemoteCatalogue
from barnabas.tiered.metadata.chain import RemoteChain, build_chain, highest_copied_offset
from barnabas.tiered.metadata.events import RemoteLogEvent
from barnabas.tiered.metadata.metadata_topic import MetadataTopic
from barnabas.tiered.metadata.segment_metadata import RemotePartition, RemotePartitionDelete, RemoteSegmentId, RemoteSegmentMetadata

# Offsets of the newest epoch belong to this log, also those that it has not fetched yet.
_NO_END = 2**63 - 1


class TieredPartition:
    def __init__(self, partition: Partition, topic: MetadataTopic, on_ignored: Callable[[TopicPartition, str], None]) -> None:
        """``on_ignored`` receives events that do not fit the known state."""
        self.partition = partition
        self.id = RemotePartition(partition.topic_id, *partition.partition)
        self.catalogue = RemoteCatalogue()
        self.being_copied: set[RemoteSegmentId] = set()
        self._on_ignored = on_ignored
        self._chain = RemoteChain()
        self._chain_of: tuple[int, tuple[EpochStart, ...]] | None = None
        # No segment is known to be remote yet, so none may leave the local disk.
        partition.log.remote_end_offset = -1
        self.subscription = topic.subscribe(self.id, self._replay)

    @property
    def ready(self) -> bool:
        """Whether the catalogue has everything that was committed when this broker began to
        read."""
        return self.subscription.ready.done

    def _replay(self, event: RemoteLogEvent) -> None:
        if isinstance(event, RemotePartitionDelete):
            return
        ignored = self.catalogue.apply(event)
        if ignored is not None:
            self._on_ignored(self.partition.partition, ignored)
        self.learn_remote_end()

    def learn_remote_end(self) -> None:
        """Take the present value, even if it was larger before: after an unclean election this log
        may have other records at offsets that an earlier leader copied."""
        self.partition.log.remote_end_offset = self.copied_offset + 1

    @property
    def copied_offset(self) -> int:
        """The last offset up to which everything is remote; -1 for none."""
        log = self.partition.log
        return highest_copied_offset(
            self.catalogue, log.leader_epochs.entries, log.log_end_offset, local_start_offset=log.local_start_offset
        )

    @property
    def chain(self) -> RemoteChain:
        """An immutable view for readers on other threads."""
        made_of = (self.catalogue.version, tuple(self.partition.log.leader_epochs.entries))
        if made_of != self._chain_of:
            self._chain = build_chain(self.catalogue, made_of[1], _NO_END)
            self._chain_of = made_of
        return self._chain

    def uncopied_segments(self) -> list[LocalSegment]:
        """The local segments, from the one that holds the first offset which is not remote."""
        segments = self.partition.log.segments.starting_with(self.copied_offset + 1)
        return [
            LocalSegment(segment.base_offset, segment.size_bytes, segment.max_timestamp, segment.transaction_index.on_disk)
            for segment in segments
        ]

    def segment_before(self, offset: int, leader_epoch: int) -> RemoteSegmentMetadata | None:
        """The remote segment that holds the offset before ``offset``, where the leader has
        ``leader_epoch``. It is taken from the latest epoch that has one, since after an unclean
        election an earlier epoch may have had another record there."""
        for epoch in reversed([each for each in self.catalogue.epochs() if each <= leader_epoch or leader_epoch < 0]):
            found = self.catalogue.segment_for(epoch, offset - 1)
            if found is not None:
                return found
        return None
