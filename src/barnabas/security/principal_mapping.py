"""``ssl.principal.mapping.rules``: from the subject of a certificate to the name of a user.

    RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L,DEFAULT

The first rule whose whole pattern matches the subject decides. ``L`` and ``U`` make the result
lower or upper case, DEFAULT takes the subject as it is, and a subject that no rule matches has no
name: its connection is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from barnabas.model.dataclass import dataclass

_RULE = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))\s*(?:,|\n|$)"
)
_GROUP = re.compile(r"\$(\d)")
_CASES: dict[str, Callable[[str], str]] = {"": str, "L": str.lower, "U": str.upper}
# A subject is attacker's input to a pattern that may backtrack.
SUBJECT_LENGTH_MAX = 4096


@dataclass(frozen=True, slots=True)
class MappingRule:
    pattern: re.Pattern[str] | None  # None is DEFAULT
    replacement: str = ""
    case: str = ""

    def name(self, subject: str) -> str | None:
        if self.pattern is None:
            return subject
        found = self.pattern.fullmatch(subject)
        if found is None:
            return None
        return _CASES[self.case](_GROUP.sub(lambda mark: _group(found, mark), self.replacement))


def parse_mapping_rules(text: str) -> list[MappingRule]:
    """Raises ``ValueError`` with a sentence for text that is not a list of rules."""
    rules, position = [], 0
    while position < len(text):
        found = _RULE.match(text, position)
        if found is None or found.end() == position:
            raise ValueError(f"a mapping rule is DEFAULT or RULE:pattern/replacement/[LU], but was {text[position:]!r}")
        position = found.end()
        if found["default"]:
            rules.append(MappingRule(None))
        else:
            rules.append(MappingRule(_compiled(found["pattern"]), found["replacement"], found["case"]))
    return rules or [MappingRule(None)]


def map_subject(rules: list[MappingRule], subject: str) -> str | None:
    """None when no rule matches."""
    if len(subject) > SUBJECT_LENGTH_MAX:
        return None
    names = (each.name(subject) for each in rules)
    return next((each for each in names if each is not None), None)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error


def _group(found: re.Match[str], mark: re.Match[str]) -> str:
    number = int(mark[1])
    return (found[number] or "") if number <= found.re.groups else mark[0]
