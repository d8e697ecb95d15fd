"""Delegation tokens by id. The secret is not here: it is derived from the id and the cluster's own
key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from barnabas.metadata.draft import Draft
from barnabas.model.dataclass import dataclass
from barnabas.wire.metadata_records import DelegationTokenRecord, MetadataRecord, RemoveDelegationTokenRecord


@dataclass(frozen=True, slots=True)
class DelegationTokensImage:
    by_id: Mapping[str, DelegationTokenRecord] = field(default_factory=dict)

    def records(self) -> Iterator[MetadataRecord]:
        yield from self.by_id.values()


class DelegationTokensDelta:
    def __init__(self, image: DelegationTokensImage) -> None:
        self.image = image
        self._draft: Draft[str, DelegationTokenRecord] = Draft(image.by_id)

    @property
    def changed(self) -> set[str]:
        return self._draft.changed

    def replay(self, record: DelegationTokenRecord) -> None:
        self._draft.set(record.token_id, record)

    def replay_remove(self, record: RemoveDelegationTokenRecord) -> None:
        self._draft.remove(record.token_id)

    def finish(self) -> DelegationTokensImage:
        return DelegationTokensImage(self._draft.finish()) if self.changed else self.image
