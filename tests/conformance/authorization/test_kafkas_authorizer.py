"""Generated rules and questions: our authorizer decides as Kafka's StandardAuthorizer does."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from barnabas.model.ids import Uuid
from barnabas.security.acls.acl import Acl, Operation, PatternType, Permission, Resource, ResourceType, canonical_host
from barnabas.security.acls.acl_filter import AclFilter
from barnabas.security.acls.authorizer import Authorizer
from barnabas.security.principal import Principal
from peers.apache_kafka import java_program

WORLDS = 400
# Few letters, so that names are often equal or prefixes of each other; one takes two characters in
# Java.
NAMES = st.one_of(st.just("*"), st.text("ab😀", min_size=1, max_size=4))
HOSTS = ("10.0.0.1", "10.0.0.2", "0:0:0:0:0:0:0:1")
PRINCIPALS = (Principal("User", "alice"), Principal("User", "bob:b"), Principal("Group", "alice"), Principal("User", "root"))
TYPES = (ResourceType.TOPIC, ResourceType.GROUP)
OPERATIONS = [each for each in Operation if each not in (Operation.UNKNOWN, Operation.ANY)]
ASKED_OPERATIONS = [each for each in OPERATIONS if each is not Operation.ALL]
PATTERNS = (PatternType.LITERAL, PatternType.PREFIXED)
# A later version may write a permission that is unknown here.
PERMISSIONS = (Permission.ALLOW, Permission.ALLOW, Permission.DENY, Permission.UNKNOWN)

ACLS = st.builds(
    Acl,
    st.sampled_from(TYPES),
    NAMES,
    st.sampled_from(PATTERNS),
    st.sampled_from([*map(str, PRINCIPALS), "User:*", "Group:*", "*:alice"]),
    st.sampled_from(["*", "*", *HOSTS]),
    st.sampled_from(OPERATIONS),
    st.sampled_from(PERMISSIONS),
)
FILTERS = st.builds(
    AclFilter,
    st.sampled_from([ResourceType.ANY, *TYPES]),
    st.one_of(st.none(), NAMES),
    st.sampled_from([PatternType.ANY, PatternType.MATCH, *PATTERNS]),
    st.sampled_from([None, "User:alice", "User:*"]),
    st.sampled_from([None, "*", "10.0.0.1"]),
    st.sampled_from([Operation.ANY, *OPERATIONS]),
    st.sampled_from([Permission.ANY, Permission.ALLOW, Permission.DENY]),
)


class Some(NamedTuple):
    """May this principal do this to some resource of the type?"""

    principal: Principal
    host: str
    operation: Operation
    kind: ResourceType


class Question(NamedTuple):
    some: Some
    name: str


SOMES = st.builds(Some, st.sampled_from(PRINCIPALS), st.sampled_from(HOSTS), st.sampled_from(ASKED_OPERATIONS), st.sampled_from(TYPES))
QUESTIONS = st.builds(Question, SOMES, NAMES)


class Oracle:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._questions, self._answers = process.stdin, process.stdout

    def ask(self, world: dict[str, Any]) -> dict[str, Any]:
        self._questions.write(json.dumps(world).encode() + b"\n")
        self._questions.flush()
        line = self._answers.readline()
        assert line.endswith(b"\n"), "the oracle died; its last words are on stderr"
        answer: dict[str, Any] = json.loads(line)
        return answer


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    program = Path(__file__).with_name("AuthorizerOracle.java")
    with subprocess.Popen(java_program(program), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Oracle(process)
        assert process.stdin is not None
        process.stdin.close()


def ours(acls: list[Acl], *, allow: bool) -> Authorizer:
    made = Authorizer(super_users=["User:root"], allow_if_no_acl=allow)
    for number, each in enumerate(acls):
        made.index.add(Uuid(number.to_bytes(16, "big")), each._replace(host=canonical_host(each.host)))
    return made


def words(some: Some) -> list[Any]:
    return [some.principal.type, some.principal.name, some.host, some.operation, some.kind]


@settings(max_examples=WORLDS, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    # Kafka never has the same rule twice.
    st.lists(ACLS, max_size=10, unique=True),
    st.lists(QUESTIONS, min_size=8, max_size=8),
    st.lists(SOMES, min_size=4, max_size=4),
    st.lists(FILTERS, min_size=4, max_size=4),
    st.booleans(),
)
def test_decisions_are_those_of_kafka(
    oracle: Oracle, acls: list[Acl], questions: list[Question], somes: list[Some], filters: list[AclFilter], allow: bool
) -> None:
    answer = oracle.ask(
        {
            "config": {"super.users": "User:root", "allow.everyone.if.no.acl.found": str(allow).lower()},
            "acls": acls,
            "questions": [[*words(each.some), each.name] for each in questions],
            "some": [words(each) for each in somes],
            "filters": filters,
        }
    )
    authorizer = ours(acls, allow=allow)
    assert [
        authorizer.may(each.some.principal, canonical_host(each.some.host), each.some.operation, Resource(each.some.kind, each.name))
        for each in questions
    ] == answer["questions"]
    assert [authorizer.may_for_some(each.principal, canonical_host(each.host), each.operation, each.kind) for each in somes] == answer[
        "some"
    ]
    assert [sum(each.accepts(acl) for acl in acls) for each in filters] == answer["filters"]
