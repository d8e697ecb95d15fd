"""``sasl.kerberos.principal.to.local.rules``: from a Kerberos principal to the name of a user.

    RULE:[1:$1@$0](.*@EXAMPLE\\.COM)s/@.*//,DEFAULT

A rule looks at principals with as many components as the number in its brackets. The format behind
that number makes a text (``$0`` is the realm, ``$1`` the first component), the text must match the
expression in parentheses, and ``s/from/to/`` changes it, everywhere with ``g``. ``/L`` and ``/U``
make the result lower or upper case. DEFAULT takes the first component of a principal of the default
realm. The first rule that applies decides; a principal without one has no name and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from barnabas.model.dataclass import dataclass

_RULE = re.compile(
    r"(?P<default>DEFAULT)"
    r"|RULE:\[(?P<components>\d+):(?P<format>[^\]]*)\](?:\((?P<match>[^)]*)\))?"
    r"(?:s/(?P<source>[^/]*)/(?P<target>[^/]*)/(?P<everywhere>g)?)?/?(?P<case>[LU])?"
)
_PRINCIPAL = re.compile(r"(?P<service>[^/@]*)(?:/(?P<host>[^/@]*))?(?:@(?P<realm>[^/@]*))?")
_PARAMETER = re.compile(r"\$(\d+)")
_GROUP = re.compile(r"\\(.)|\$(\d)")
_NOT_SIMPLE = re.compile(r"[/@]")
# A principal is a client's input to a pattern that may backtrack.
PRINCIPAL_LENGTH_MAX = 1024


@dataclass(frozen=True, slots=True)
class KerberosPrincipal:
    service: str
    host: str | None
    realm: str | None


@dataclass(frozen=True, slots=True)
class NameRule:
    """``components`` is 0 for DEFAULT."""

    components: int = 0
    format: str = ""
    match: re.Pattern[str] | None = None
    source: re.Pattern[str] | None = None
    target: str = ""
    everywhere: bool = False
    case: str | None = None

    def name(self, principal: KerberosPrincipal, default_realm: str) -> str | None:
        if self.components == 0:
            return principal.service if principal.realm == default_realm else None
        parts = [principal.realm or "", principal.service, *([principal.host] if principal.host is not None else [])]
        if len(parts) - 1 != self.components:
            return None
        text = _PARAMETER.sub(lambda mark: parts[int(mark[1])] if int(mark[1]) < len(parts) else "", self.format)
        if self.match is not None and self.match.fullmatch(text) is None:
            return None
        if self.source is not None:
            text = self.source.sub(lambda found: _replacement(self.target, found), text, count=0 if self.everywhere else 1)
        return text.lower() if self.case == "L" else text.upper() if self.case == "U" else text


def parse_name_rules(texts: Sequence[str]) -> list[NameRule]:
    """Raises ``ValueError`` with a sentence for a text that is not a rule."""
    return [_rule(text.strip()) for text in texts] or [NameRule()]


def local_name(rules: Sequence[NameRule], principal: str, default_realm: str) -> str | None:
    """None when no rule applies, or when its result is not a simple name."""
    found = _PRINCIPAL.fullmatch(principal) if len(principal) <= PRINCIPAL_LENGTH_MAX else None
    if found is None or not found["service"]:
        return None
    parsed = KerberosPrincipal(found["service"], found["host"], found["realm"])
    if parsed.realm is None and parsed.host is None:
        return parsed.service
    names = (each.name(parsed, default_realm) for each in rules)
    name = next((each for each in names if each is not None), None)
    return name if name and not _NOT_SIMPLE.search(name) else None


def _rule(text: str) -> NameRule:
    found = _RULE.fullmatch(text)
    if found is None:
        raise ValueError(f"a rule is DEFAULT or RULE:[n:format](match)s/from/to/g/L, but was {text!r}")
    if found["default"]:
        return NameRule()
    if int(found["components"]) not in (1, 2):
        raise ValueError(f"a rule is for principals with 1 or 2 components, but was {text!r}")
    return NameRule(
        int(found["components"]),
        found["format"],
        _compiled(found["match"]),
        _compiled(found["source"]),
        found["target"] or "",
        found["everywhere"] is not None,
        found["case"],
    )


def _compiled(pattern: str | None) -> re.Pattern[str] | None:
    try:
        return None if pattern is None else re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error


def _replacement(target: str, found: re.Match[str]) -> str:
    """Java's replacement syntax: ``$1`` is a group, and a backslash quotes."""

    def part(mark: re.Match[str]) -> str:
        if mark[1] is not None:
            return mark[1]
        return (found[int(mark[2])] or "") if int(mark[2]) <= found.re.groups else mark[0]

    return _GROUP.sub(part, target)
