"""The finalized feature levels of the cluster. Level zero is the same as absent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from barnabas.metadata.draft import Draft
from barnabas.model.dataclass import dataclass
from barnabas.wire.metadata_records import FeatureLevelRecord, MetadataRecord

METADATA_VERSION = "metadata.version"
# From 1 on voters may change (KIP-853). The quorum's own records have its level, not the image.
KRAFT_VERSION = "kraft.version"
GROUP_VERSION = "group.version"  # From 1 on groups may use the protocol of KIP-848.
# From 2 on the producer epoch rises with every transaction (KIP-890).
TRANSACTION_VERSION = "transaction.version"
# From 1 on some replicas that left the ISR may still lead (KIP-966).
ELIGIBLE_LEADER_REPLICAS_VERSION = "eligible.leader.replicas.version"
SHARE_VERSION = "share.version"  # From 1 on groups may be share groups (KIP-932).
STREAMS_VERSION = "streams.version"  # From 1 on groups may be streams groups (KIP-1071).


@dataclass(frozen=True, slots=True)
class FeaturesImage:
    levels: Mapping[str, int] = field(default_factory=dict)

    def level(self, name: str) -> int:
        return self.levels.get(name, 0)

    @property
    def eligible_leader_replicas(self) -> bool:
        return self.level(ELIGIBLE_LEADER_REPLICAS_VERSION) >= 1

    def records(self) -> Iterator[MetadataRecord]:
        # metadata.version comes first: a reader may need it to understand the other records.
        for name, level in sorted(self.levels.items(), key=lambda item: (item[0] != METADATA_VERSION, item[0])):
            yield FeatureLevelRecord(name=name, feature_level=level)


class FeaturesDelta:
    def __init__(self, image: FeaturesImage) -> None:
        self.image = image
        self._draft: Draft[str, int] = Draft(image.levels)

    @property
    def changed(self) -> set[str]:
        return self._draft.changed

    def replay(self, record: FeatureLevelRecord) -> None:
        if record.feature_level:
            self._draft.set(record.name, record.feature_level)
        else:
            self._draft.remove(record.name)

    def finish(self) -> FeaturesImage:
        return FeaturesImage(self._draft.finish()) if self.changed else self.image
