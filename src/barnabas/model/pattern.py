"""Regular expressions that clients send and brokers match. As in Kafka they are RE2's.

RE2 matches any pattern in time linear in the text. Python's own engine backtracks: ``(a+)+b`` takes
exponential time on thirty characters, and a limit on lengths would not help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

# Longer than any list of names that a person would type, and short enough to compile at once.
PATTERN_LENGTH_MAX = 10_000
_PATTERNS_KEPT = 256

Matcher = Callable[[str], bool]


def matcher(pattern: str) -> Matcher | str:
    """A predicate that matches whole texts, or a sentence about the error in the pattern."""
    if len(pattern) > PATTERN_LENGTH_MAX:
        return f"the pattern has {len(pattern)} characters, more than {PATTERN_LENGTH_MAX}"
    return _compiled(pattern)


@lru_cache(maxsize=_PATTERNS_KEPT)
def _compiled(pattern: str) -> Matcher | str:
    # Imported with the first pattern: most nodes never see one, and all of them should start fast.
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        why = error.args[0]
        return why.decode() if isinstance(why, bytes) else str(why)
    return lambda text: compiled.fullmatch(text) is not None


def matching(pattern: str, names: Iterable[str]) -> frozenset[str]:
    """Empty for an invalid pattern: another version accepted it and wrote it to the log."""
    matches = matcher(pattern)
    return frozenset() if isinstance(matches, str) else frozenset(filter(matches, names))
