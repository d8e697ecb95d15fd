"""CreateAcls and DeleteAcls in the controller."""

from __future__ import annotations

from typing import Any

import pytest

import barnabas.controller.core.acls as acls_module
from barnabas.model.errors import ErrorCode
from barnabas.security.acls.acl import CLUSTER_NAME, Operation, PatternType, Permission, ResourceType
from barnabas.wire.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from barnabas.wire.metadata_records import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from tests.acl_creation import acl_creation
from tests.unit.controller.core.deciding import Office


def any_of(**fields: Any) -> DeleteAclsFilter:
    every: dict[str, Any] = {
        "resource_type_filter": ResourceType.ANY,
        "resource_name_filter": None,
        "pattern_type_filter": PatternType.ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": Operation.ANY,
        "permission_type": Permission.ANY,
    }
    return DeleteAclsFilter(**every | fields)


def create(office: Office, *creations: AclCreation) -> list[int]:
    return [each.error_code for each in office.ask(CreateAclsRequest(creations=list(creations))).results]


def names(office: Office) -> list[str]:
    return sorted(each.resource_name for each in office.image.acls.by_id.values())


# -- creating ------------------------------------------------------------------------------------


def test_a_new_rule_is_one_record_with_an_id_of_its_own() -> None:
    office = Office()
    outcome = office.decide(CreateAclsRequest(creations=[acl_creation(), acl_creation(resource_name="u")]))
    first, second = outcome.records
    assert isinstance(first, AccessControlEntryRecord)
    assert isinstance(second, AccessControlEntryRecord)
    assert first.id != second.id
    assert names(office) == ["t", "u"]


def test_a_rule_that_exists_writes_nothing_and_succeeds() -> None:
    office = Office()
    assert create(office, acl_creation(), acl_creation()) == [ErrorCode.NONE] * 2
    outcome = office.decide(CreateAclsRequest(creations=[acl_creation()]))
    assert outcome.records == []
    assert names(office) == ["t"]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"resource_type": ResourceType.ANY}, "Invalid resourceType ANY"),
        ({"resource_type": ResourceType.UNKNOWN}, "Invalid resourceType UNKNOWN"),
        ({"resource_type": 100}, "Invalid resourceType UNKNOWN"),
        ({"resource_type": -1}, "Invalid resourceType UNKNOWN"),
        ({"resource_pattern_type": PatternType.ANY}, "Invalid patternType ANY"),
        ({"resource_pattern_type": PatternType.MATCH}, "Invalid patternType MATCH"),
        ({"resource_pattern_type": 77}, "Invalid patternType UNKNOWN"),
        ({"operation": Operation.ANY}, "Invalid operation ANY"),
        ({"operation": 99}, "Invalid operation UNKNOWN"),
        ({"permission_type": Permission.ANY}, "Invalid permissionType ANY"),
        ({"permission_type": 4}, "Invalid permissionType UNKNOWN"),
        ({"resource_name": ""}, "empty resource name"),
        ({"resource_type": ResourceType.CLUSTER, "resource_name": "c"}, "only valid name for the CLUSTER resource"),
        ({"principal": "alice"}, "Could not parse principal from `alice`"),
        ({"principal": ""}, "Could not parse principal from ``"),
    ],
)
def test_an_invalid_rule_is_refused_and_the_others_are_created(fields: dict[str, Any], why: str) -> None:
    office = Office()
    wrong, good = office.ask(CreateAclsRequest(creations=[acl_creation(**fields), acl_creation(resource_name="good")])).results
    assert wrong.error_code == ErrorCode.INVALID_REQUEST
    assert why in wrong.error_message
    assert good.error_code == ErrorCode.NONE
    assert names(office) == ["good"]


def test_a_rule_about_the_cluster_names_the_cluster() -> None:
    assert create(Office(), acl_creation(resource_type=ResourceType.CLUSTER, resource_name=CLUSTER_NAME)) == [ErrorCode.NONE]


def test_a_principal_needs_only_a_colon() -> None:
    """Kafka accepts any type of principal, since other authenticators may name their own."""
    assert create(Office(), acl_creation(principal="Robot:r:2"), acl_creation(principal=":name")) == [ErrorCode.NONE] * 2


def test_too_many_rules_in_one_request_are_all_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acls_module, "CHANGES_PER_REQUEST_MAX", 2)
    office = Office()
    rules = [acl_creation(resource_name=str(number)) for number in range(3)]
    assert create(office, *rules) == [ErrorCode.INVALID_REQUEST] * 3
    assert names(office) == []
    assert create(office, *rules[:2]) == [ErrorCode.NONE] * 2


# -- deleting ------------------------------------------------------------------------------------


def test_deleted_rules_are_named_and_gone() -> None:
    office = Office()
    create(office, acl_creation(), acl_creation(resource_name="u"), acl_creation(resource_name="kept", principal="User:bob"))
    outcome = office.decide(DeleteAclsRequest(filters=[any_of(principal_filter="User:alice")]))
    assert all(isinstance(each, RemoveAccessControlEntryRecord) for each in outcome.records)
    (result,) = outcome.response.filter_results
    assert sorted(each.resource_name for each in result.matching_acls) == ["t", "u"]
    assert names(office) == ["kept"]


def test_a_rule_that_two_filters_match_is_in_both_results_and_removed_once() -> None:
    office = Office()
    create(office, acl_creation())
    outcome = office.decide(DeleteAclsRequest(filters=[any_of(), any_of(resource_name_filter="t")]))
    assert [len(each.matching_acls) for each in outcome.response.filter_results] == [1, 1]
    assert len(outcome.records) == 1


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"resource_type_filter": 0}, "Unknown patternFilter."),
        ({"resource_type_filter": 50}, "Unknown patternFilter."),
        ({"pattern_type_filter": 0}, "Unknown patternFilter."),
        ({"pattern_type_filter": 9}, "Unknown patternFilter."),
        ({"operation": 0}, "Unknown entryFilter."),
        ({"operation": 120}, "Unknown entryFilter."),
        ({"permission_type": 0}, "Unknown entryFilter."),
        ({"permission_type": -5}, "Unknown entryFilter."),
    ],
)
def test_an_unknown_number_in_a_filter_is_refused_and_deletes_nothing(fields: dict[str, Any], why: str) -> None:
    office = Office()
    create(office, acl_creation())
    (result,) = office.ask(DeleteAclsRequest(filters=[any_of(**fields)])).filter_results
    assert (result.error_code, result.error_message) == (ErrorCode.INVALID_REQUEST, why)
    assert names(office) == ["t"]


def test_too_many_deletions_in_one_request_delete_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acls_module, "CHANGES_PER_REQUEST_MAX", 2)
    office = Office()
    create(office, acl_creation(resource_name="a"), acl_creation(resource_name="b"))
    create(office, acl_creation(resource_name="c"))
    (result,) = office.ask(DeleteAclsRequest(filters=[any_of()])).filter_results
    assert (result.error_code, result.matching_acls) == (ErrorCode.INVALID_REQUEST, [])
    assert names(office) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("fields", "deleted"),
    [
        ({"pattern_type_filter": PatternType.LITERAL, "resource_name_filter": "orders"}, {"orders"}),
        ({"pattern_type_filter": PatternType.PREFIXED, "resource_name_filter": "ord"}, {"ord"}),
        ({"pattern_type_filter": PatternType.ANY, "resource_name_filter": "ord"}, {"ord"}),
        ({"pattern_type_filter": PatternType.MATCH, "resource_name_filter": "orders"}, {"orders", "ord", "*"}),
        ({"pattern_type_filter": PatternType.MATCH, "resource_name_filter": "ordeal"}, {"ord", "*"}),
        ({"pattern_type_filter": PatternType.MATCH}, {"orders", "ord", "*"}),
        ({"pattern_type_filter": PatternType.LITERAL, "resource_name_filter": "*"}, {"*"}),
    ],
)
def test_pattern_types_of_filters_select_as_kafkas_do(fields: dict[str, Any], deleted: set[str]) -> None:
    office = Office()
    create(
        office,
        acl_creation(resource_name="orders"),
        acl_creation(resource_name="ord", resource_pattern_type=PatternType.PREFIXED),
        acl_creation(resource_name="*"),
    )
    (result,) = office.ask(DeleteAclsRequest(filters=[any_of(**fields)])).filter_results
    assert {each.resource_name for each in result.matching_acls} == deleted


def test_a_filter_finds_a_host_in_another_spelling() -> None:
    office = Office()
    create(office, acl_creation(host="0:0:0:0:0:0:0:1"))
    (result,) = office.ask(DeleteAclsRequest(filters=[any_of(host_filter="::1")])).filter_results
    assert [each.host for each in result.matching_acls] == ["0:0:0:0:0:0:0:1"]
