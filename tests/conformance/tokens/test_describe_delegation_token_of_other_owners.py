"""Tokens of other owners under an authorizer: the same ACLs and requests in both programs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.security.acls.acl import Operation, PatternType, Permission, ResourceType
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.create_acls import AclCreation, CreateAclsRequest
from peers.apache_kafka import apache_kafka
from tests.conformance.tokens.nodes import SASL, TOKENS
from tests.conformance.tokens.sides import Side, Sides, creation, description, everything, expiry, renewal
from tests.waiting import until

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    # Nodes reach the controller without authentication.
    "super.users": "User:admin;User:ANONYMOUS",
}


@pytest.fixture(scope="module")
def guarded() -> Iterator[Sides]:
    settings = SASL | TOKENS | AUTHORIZER
    with ExitStack() as stack:
        kafka, process = stack.enter_context(apache_kafka(extra=settings))
        stack.callback(process.kill)
        barnabas = stack.enter_context(EmbeddedBroker(config=settings))
        sides = Sides(kafka, barnabas.bootstrap)
        stack.callback(sides.kafka.close)
        stack.callback(sides.barnabas.close)
        yield sides


def allow(side: Side, principal: str, operation: Operation, kind: ResourceType, name: str) -> None:
    rule = AclCreation(
        resource_type=kind,
        resource_name=name,
        resource_pattern_type=PatternType.LITERAL,
        principal=f"User:{principal}",
        host="*",
        operation=operation,
        permission_type=Permission.ALLOW,
    )
    (result,) = side.ask("admin", CreateAclsRequest(creations=[rule]), 3).results
    assert result.error_code == ErrorCode.NONE, result


def test_acls_open_the_tokens_of_other_owners(guarded: Sides) -> None:
    sides = guarded
    both = (sides.kafka, sides.barnabas)
    denied = sides.same("alice", creation(owner="User:carol"))
    assert denied.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    sides.same("carol", creation(), made="carols")
    sides.same("bob", creation(), made="bobs")
    assert sides.same("alice", everything).tokens == []

    for side in both:
        allow(side, "alice", Operation.CREATE_TOKENS, ResourceType.USER, "User:carol")

    def created() -> bool:
        for side in both:
            if "for carol" not in side.made:
                token = side.ask("alice", creation(owner="User:carol")(side), 3)
                if token.error_code != ErrorCode.NONE:
                    return False
                side.made["for carol"] = token
        return True

    until(created, "the new rule lets alice make a token for carol")
    sides.soon_same("carol", renewal("for carol"))
    assert sides.same("alice", renewal("for carol")).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    sides.soon_same("alice", everything)

    for side in both:
        allow(side, "bob", Operation.DESCRIBE_TOKENS, ResourceType.USER, "User:carol")
        allow(side, "alice", Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, side.made["bobs"].token_id)
    for user in ("alice", "bob", "carol", "admin"):
        sides.soon_same(user, everything)
        sides.soon_same(user, description("User:carol"))
        sides.soon_same(user, description("User:bob", "User:alice"))
    seen = {token.token_id for token in sides.same("alice", everything).tokens}
    assert seen == {sides.barnabas.made[name].token_id for name in ("bobs", "for carol")}
    for user, token in (("carol", "carols"), ("carol", "for carol"), ("bob", "bobs")):
        sides.same(user, expiry(token))
