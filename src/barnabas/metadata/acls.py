"""ACLs by id. An ACL is removed by its id alone, so a removal can never affect another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from barnabas.metadata.draft import Draft
from barnabas.model.dataclass import dataclass
from barnabas.model.ids import Uuid
from barnabas.security.acls.acl import Acl, Operation, PatternType, Permission, ResourceType, canonical_host
from barnabas.wire.metadata_records import AccessControlEntryRecord, MetadataRecord, RemoveAccessControlEntryRecord


@dataclass(frozen=True, slots=True)
class AclImage:
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    def record(self, acl_id: Uuid) -> AccessControlEntryRecord:
        return AccessControlEntryRecord(
            id=acl_id,
            resource_type=self.resource_type,
            resource_name=self.resource_name,
            pattern_type=self.pattern_type,
            principal=self.principal,
            host=self.host,
            operation=self.operation,
            permission_type=self.permission_type,
        )


@dataclass(frozen=True, slots=True)
class AclsImage:
    by_id: Mapping[Uuid, AclImage] = field(default_factory=dict)

    def records(self) -> Iterator[MetadataRecord]:
        return (acl.record(acl_id) for acl_id, acl in self.by_id.items())


class AclsDelta:
    def __init__(self, image: AclsImage) -> None:
        self.image = image
        self._draft: Draft[Uuid, AclImage] = Draft(image.by_id)

    @property
    def changed(self) -> set[Uuid]:
        return self._draft.changed

    def replay(self, record: AccessControlEntryRecord) -> None:
        self._draft.set(
            record.id,
            AclImage(
                record.resource_type,
                record.resource_name,
                record.pattern_type,
                record.principal,
                record.host,
                record.operation,
                record.permission_type,
            ),
        )

    def replay_remove(self, record: RemoveAccessControlEntryRecord) -> None:
        assert self._draft.get(record.id) is not None, f"access rule {record.id.hex()} is removed before it exists"
        self._draft.remove(record.id)

    def finish(self) -> AclsImage:
        return AclsImage(self._draft.finish()) if self.changed else self.image


def rule_of(acl: AclImage) -> Acl:
    """The rule as the authorizer compares it. A number that this version does not know becomes
    UNKNOWN. As a type, pattern or operation it matches nothing, and as a permission it denies."""
    return Acl(
        _RESOURCE_TYPES.get(acl.resource_type, ResourceType.UNKNOWN),
        acl.resource_name,
        _PATTERN_TYPES.get(acl.pattern_type, PatternType.UNKNOWN),
        acl.principal,
        canonical_host(acl.host),
        _OPERATIONS.get(acl.operation, Operation.UNKNOWN),
        _PERMISSIONS.get(acl.permission_type, Permission.UNKNOWN),
    )


_RESOURCE_TYPES = {int(each): each for each in ResourceType}
_PATTERN_TYPES = {int(each): each for each in PatternType}
_OPERATIONS = {int(each): each for each in Operation}
_PERMISSIONS = {int(each): each for each in Permission}
