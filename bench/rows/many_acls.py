"""What 10,000 ACLs cost a client that is not a super user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from barnabas.direct_requests.broker_connection import BrokerConnection
from barnabas.security.acls.acl import ANY_HOST, Operation, PatternType, Permission, ResourceType
from barnabas.wire.messages.create_acls import AclCreation, CreateAclsRequest
from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure, MeasurementFailed
from bench.rows.secured import VARIANT, small_requests
from bench.secured_server import USER, secured_server
from bench.systems import Server, System
from bench.topics import new_topic

RULES = 10_000
RULES_AT_ONCE = 1000
SECONDS_MAX = 60.0
PROTOCOL = "SASL_SSL"


@dataclass(frozen=True, slots=True)
class ManyAcls:
    family = "small requests with 10,000 ACLs"
    about = (
        f"The work of secured small requests over {PROTOCOL} by a user that may write because of one ACL, in turns on a server with "
        f"this ACL alone and on one with {RULES:,} further ones, half of them about the same user, half of them about prefixes."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (Figure(self.family, "% slower", Better.LOWER, Goal(ours=10.0)),)

    def why_skipped(self) -> str | None:
        return programs.why_no_librdkafka_load()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        with (
            secured_server(system, PROTOCOL, acls=True) as few,
            secured_server(system, PROTOCOL, acls=True) as many,
            new_topic(few, VARIANT.partitions) as topic_of_few,
            new_topic(many, VARIANT.partitions) as topic_of_many,
        ):
            _add(few, [_rule(topic_of_few)])
            _add(many, [_rule(topic_of_many), *_others()])

            def measure() -> tuple[float, ...]:
                rates = [
                    small_requests(server, topic, effort, **{"sasl.username": USER})
                    for server, topic in ((few, topic_of_few), (many, topic_of_many))
                ]
                return (max(0.0, (1 - rates[1] / rates[0]) * 100),)

            yield measure


def _rule(topic: str, *, user: str = USER, pattern: PatternType = PatternType.LITERAL) -> AclCreation:
    return AclCreation(
        resource_type=ResourceType.TOPIC,
        resource_name=topic,
        resource_pattern_type=pattern,
        principal=f"User:{user}",
        host=ANY_HOST,
        operation=Operation.WRITE,
        permission_type=Permission.ALLOW,
    )


def _others() -> list[AclCreation]:
    users, patterns = (USER, "other"), (PatternType.LITERAL, PatternType.PREFIXED)
    return [_rule(f"elsewhere-{number}", user=users[number % 2], pattern=patterns[number // 2 % 2]) for number in range(RULES)]


def _add(server: Server, rules: list[AclCreation]) -> None:
    with BrokerConnection(server.bootstrap, server.client, seconds_max=SECONDS_MAX) as connection:
        for start in range(0, len(rules), RULES_AT_ONCE):
            response = connection.ask(CreateAclsRequest(creations=rules[start : start + RULES_AT_ONCE]))
            refused = [each for each in response.results if each.error_code]
            if refused:
                raise MeasurementFailed(f"an ACL was refused: {refused[0].error_message}")


ROWS = (ManyAcls(),)
