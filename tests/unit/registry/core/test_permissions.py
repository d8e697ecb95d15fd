from __future__ import annotations

import pytest

from barnabas.registry.core.permissions import Need, about, need_of
from barnabas.security.acls.acl import CLUSTER, Operation, Resource, ResourceType


def topic(name: str, operation: Operation) -> Need:
    return Need(operation, Resource(ResourceType.TOPIC, name))


@pytest.mark.parametrize(
    ("subject", "name"),
    [("orders-value", "orders"), ("orders-key", "orders"), ("orders", "orders"), (":.eu:orders-value", "orders"), ("-value", "-value")],
)
def test_a_subject_has_the_rules_of_its_topic(subject: str, name: str) -> None:
    assert about(subject, Operation.WRITE) == topic(name, Operation.WRITE)


@pytest.mark.parametrize("subject", [":.:", ":.", ":.__GLOBAL:", ":.__GLOBAL", ":.eu:", "__GLOBAL", "__EMPTY", ":.:__GLOBAL"])
def test_a_name_that_is_no_subject_has_the_rules_of_the_cluster(subject: str) -> None:
    for section in ("config", "mode"):
        for method, operation in (
            ("GET", Operation.DESCRIBE_CONFIGS),
            ("PUT", Operation.ALTER_CONFIGS),
            ("DELETE", Operation.ALTER_CONFIGS),
        ):
            assert need_of(method, f"/{section}/{{subject}}", {"subject": subject}) == Need(operation, CLUSTER)
    versions = "/subjects/{subject}/versions"
    assert need_of("POST", versions, {"subject": subject}) == Need(Operation.ALTER_CONFIGS, CLUSTER)
    assert need_of("GET", versions, {"subject": subject}) == Need(Operation.DESCRIBE_CONFIGS, CLUSTER)
    assert need_of("DELETE", "/subjects/{subject}", {"subject": subject}) == Need(Operation.ALTER_CONFIGS, CLUSTER)
