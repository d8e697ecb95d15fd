"""ACLs as a matrix: each principal's operations on one resource, and the rule that decides. Pure.

The decisions are made by the code that Barnabas brokers decide with, which has the semantics of
Kafka's StandardAuthorizer: wildcards and prefixes are resolved, DENY wins over ALLOW, and READ,
WRITE, DELETE and ALTER include DESCRIBE.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.security.acls.acl import ANY_USER, Acl, Operation, Resource
from barnabas.security.acls.explanation import Explainer, Explanation, Question, Settings
from barnabas.security.acls.operations import OPERATIONS
from barnabas.security.acls.words import name_of, resource_text
from barnabas.security.principal import parse_principal


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, with the words that people read and type."""

    permission: str
    principal: str
    operation: str
    resource_type: str
    resource_name: str
    pattern: str
    host: str
    sentence: str


@dataclass(frozen=True, slots=True)
class MatrixCell:
    operation: str
    is_allowed: bool
    reason: str
    """``super_user``, ``rule``, ``no_rules`` or ``no_match``."""
    sentence: str
    rule: Rule | None
    differs_at: list[str]
    """Hosts that rules name, where the decision is the other one."""


@dataclass(frozen=True, slots=True)
class MatrixRow:
    principal: str
    is_everyone_else: bool
    """The row of all principals that no rule names."""
    cells: list[MatrixCell]


def shown_rule(acl: Acl) -> Rule:
    verb = "may" if name_of(acl.permission) == "allow" else "may not"
    deed = "do everything to" if acl.operation is Operation.ALL else name_of(acl.operation)
    where = "" if acl.host == "*" else f" from {acl.host}"
    who = "everyone" if acl.principal == ANY_USER else acl.principal
    return Rule(
        name_of(acl.permission),
        acl.principal,
        name_of(acl.operation),
        name_of(acl.resource_type),
        acl.resource_name,
        name_of(acl.pattern_type),
        acl.host,
        f"{who} {verb} {deed} {resource_text(acl.resource_type, acl.resource_name, acl.pattern_type)}{where}",
    )


def matrix(acls: Iterable[Acl], resource: Resource, settings: Settings, principals: Iterable[str] = ()) -> list[MatrixRow]:
    """Rows for the principals that rules about the resource name, for super users and for
    ``principals``; the last row is everyone else."""

    explainer = Explainer(acls, settings)
    named = explainer.principals_of(resource) | set(settings.super_users or ()) | set(principals)
    rows = [_row(explainer, each, resource) for each in sorted(named - {ANY_USER})]
    return [*rows, _row(explainer, ANY_USER, resource)]


def _row(explainer: Explainer, principal: str, resource: Resource) -> MatrixRow:
    asked = parse_principal(principal)
    cells = [_cell(explainer.explain(Question(asked, each, resource))) for each in OPERATIONS[resource.type]]
    return MatrixRow(principal, principal == ANY_USER, cells)


def _cell(explained: Explanation) -> MatrixCell:
    rule = None if explained.rule is None else shown_rule(explained.rule)
    sentence = explained.sentence()
    if rule is not None:
        sentence = sentence.replace("this rule allows it", f"the rule “{rule.sentence}” allows it")
        sentence = sentence.replace("this rule denies it", f"the rule “{rule.sentence}” denies it")
    return MatrixCell(
        name_of(explained.question.operation), explained.allowed, explained.reason.value, sentence, rule, list(explained.differs_at)
    )
