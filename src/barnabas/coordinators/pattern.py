"""Regular expressions that clients send and brokers match: RE2's, as in Kafka.

RE2 matches in time linear in the text, whatever the pattern says. Python's own engine backtracks: ``(a+)+b`` takes exponential time
on thirty characters, and bounding lengths would not help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

# Longer than any list of names somebody would type, and short enough to compile at once.
PATTERN_LENGTH_MAX = 10_000
_PATTERNS_KEPT = 256

Matcher = Callable[[str], bool]


def matcher(pattern: str) -> Matcher | str:
    """Whether a whole text matches, or a sentence that says what is wrong with the pattern."""
    if len(pattern) > PATTERN_LENGTH_MAX:
        return f"the pattern has {len(pattern)} characters, more than {PATTERN_LENGTH_MAX}"
    return _compiled(pattern)


@lru_cache(maxsize=_PATTERNS_KEPT)
def _compiled(pattern: str) -> Matcher | str:
    # Imported by the first pattern: most nodes never see one, and all of them want to start fast.
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as wrong:
        why = wrong.args[0]
        return why.decode() if isinstance(why, bytes) else str(why)
    return lambda text: compiled.fullmatch(text) is not None


def matching(pattern: str, names: Iterable[str]) -> frozenset[str]:
    """Nothing for a pattern that cannot be read: it was accepted by another version and lies in the log."""
    matches = matcher(pattern)
    return frozenset() if isinstance(matches, str) else frozenset(filter(matches, names))
