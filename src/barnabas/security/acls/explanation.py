"""Explains a decision: which rule allows or denies an operation.

The decision is computed here from the rules of the cluster, with the code that Barnabas brokers
decide with. Super users and ``allow.everyone.if.no.acl.found`` are settings of brokers; where the
cluster does not tell them, the explanation says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from barnabas.model.dataclass import dataclass
from barnabas.model.ids import Uuid
from barnabas.security.acls.acl import ANY_HOST, Acl, Operation, Resource
from barnabas.security.acls.authorizer import Authorizer
from barnabas.security.acls.words import name_of, resource_text
from barnabas.security.principal import Principal, parse_principals


class Reason(StrEnum):
    SUPER_USER = "super_user"
    RULE = "rule"
    NO_RULES = "no_rules"  # no rule is about the resource, so a setting decides
    NO_MATCH = "no_match"  # there are rules about the resource, and none allows this


@dataclass(frozen=True, slots=True)
class Settings:
    """None where the cluster does not tell a setting."""

    super_users: tuple[str, ...] | None = None
    allow_if_no_acl: bool | None = None

    @classmethod
    def of_broker(cls, values: Mapping[str, str | None]) -> Settings:
        users, default = values.get("super.users"), values.get("allow.everyone.if.no.acl.found")
        try:
            parsed = None if users is None else tuple(str(each) for each in parse_principals(users))
        except ValueError:
            parsed = None
        return cls(parsed, None if default is None else default.lower() == "true")


@dataclass(frozen=True, slots=True)
class Question:
    principal: Principal
    operation: Operation
    resource: Resource
    # ANY_HOST asks about a host that no rule names.
    host: str = ANY_HOST

    def claim(self, verb: str) -> str:
        where = "" if self.host == ANY_HOST else f" from {self.host}"
        return f"{self.principal} {verb} {name_of(self.operation)} {resource_text(*self.resource)}{where}"


@dataclass(frozen=True, slots=True)
class Explanation:
    question: Question
    allowed: bool
    reason: Reason
    rule: Acl | None
    # The hosts that rules name, where the decision differs.
    differs_at: tuple[str, ...]

    def sentence(self) -> str:
        claim = self.question.claim("may" if self.allowed else "may not")
        match self.reason:
            case Reason.SUPER_USER:
                return f"{claim}: it is a super user."
            case Reason.RULE:
                return f"{claim}: this rule {'allows' if self.allowed else 'denies'} it."
            case Reason.NO_RULES:
                return f"{claim}: no rule is about this resource, and allow.everyone.if.no.acl.found is {str(self.allowed).lower()}."
            case Reason.NO_MATCH:
                return f"{claim}: there are rules about this resource, and none of them allows it."


class Explainer:
    """Explains decisions about the same rules."""

    def __init__(self, acls: Iterable[Acl], settings: Settings) -> None:
        self._authorizer = Authorizer(super_users=settings.super_users or (), allow_if_no_acl=bool(settings.allow_if_no_acl))
        self._rules: dict[str, Acl] = {}
        for number, acl in enumerate(acls):
            self._authorizer.index.add(Uuid(number.to_bytes(16, "big")), acl)
            self._rules[f"MatchingAcl(acl={acl})"] = acl
        self._hosts = {acl.host for acl in self._rules.values()} - {ANY_HOST}

    def principals_of(self, resource: Resource) -> set[str]:
        """The principals that rules about the resource name."""
        return {principal for pattern in self._authorizer.index.matching(resource) for principal in pattern}

    def explain(self, question: Question) -> Explanation:
        principal, operation, resource = question.principal, question.operation, question.resource
        decision = self._authorizer.decide(principal, question.host, operation, resource)
        rule = self._rules.get(decision.rule)
        if self._authorizer.is_super_user(principal):
            reason = Reason.SUPER_USER
        elif rule is not None:
            reason = Reason.RULE
        else:
            reason = Reason.NO_MATCH if any(True for _ in self._authorizer.index.matching(resource)) else Reason.NO_RULES
        hosts = sorted(self._hosts) if question.host == ANY_HOST else []
        differs = tuple(host for host in hosts if self._authorizer.may(principal, host, operation, resource) != decision.allowed)
        return Explanation(question, decision.allowed, reason, rule, differs)


def explain(question: Question, acls: Iterable[Acl], settings: Settings) -> Explanation:
    return Explainer(acls, settings).explain(question)
