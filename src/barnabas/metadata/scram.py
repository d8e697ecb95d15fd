"""SCRAM credentials by user and mechanism: salted keys, never passwords."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import NamedTuple

from barnabas.metadata.draft import Draft
from barnabas.model.dataclass import dataclass
from barnabas.wire.metadata_records import MetadataRecord, RemoveUserScramCredentialRecord, UserScramCredentialRecord


class ScramUser(NamedTuple):
    name: str
    mechanism: int


@dataclass(frozen=True, slots=True)
class ScramCredential:
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


@dataclass(frozen=True, slots=True)
class ScramImage:
    by_user: Mapping[ScramUser, ScramCredential] = field(default_factory=dict)

    def records(self) -> Iterator[MetadataRecord]:
        for user, credential in self.by_user.items():
            yield UserScramCredentialRecord(
                name=user.name,
                mechanism=user.mechanism,
                salt=credential.salt,
                stored_key=credential.stored_key,
                server_key=credential.server_key,
                iterations=credential.iterations,
            )


class ScramDelta:
    def __init__(self, image: ScramImage) -> None:
        self.image = image
        self._draft: Draft[ScramUser, ScramCredential] = Draft(image.by_user)

    @property
    def changed(self) -> set[ScramUser]:
        return self._draft.changed

    def replay(self, record: UserScramCredentialRecord) -> None:
        self._draft.set(
            ScramUser(record.name, record.mechanism),
            ScramCredential(record.salt, record.stored_key, record.server_key, record.iterations),
        )

    def replay_remove(self, record: RemoveUserScramCredentialRecord) -> None:
        self._draft.remove(ScramUser(record.name, record.mechanism))

    def finish(self) -> ScramImage:
        return ScramImage(self._draft.finish()) if self.changed else self.image
