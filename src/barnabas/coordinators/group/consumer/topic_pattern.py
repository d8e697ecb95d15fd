"""Patterns that members subscribe with (KIP-848: regular expressions in RE2's syntax, matched against whole topic names).

A pattern comes from a client and is matched on the broker, so its cost must be bounded whatever it says. RE2 matches in time linear in the
name; it is used where it is installed (``google-re2``). Python's own engine backtracks: ``(a+)+b`` takes exponential time on thirty
characters, so bounding lengths does not help. Without RE2 only patterns are taken that cannot explode: no repeated groups, no back
references or look-around, and few repetitions.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

# Longer than any list of topic names somebody would type, and short enough to compile at once.
PATTERN_LENGTH_MAX = 10_000
# Python's engine needs up to length ** repetitions steps; a topic name has at most 249 characters.
_REPETITIONS_MAX = 3
_PATTERNS_KEPT = 256

_REPETITION = re.compile(r"(?<!\\)[*+{]")
# A group repeated, a reference back, look-around or another extension of Perl's.
_EXPLOSIVE = re.compile(r"\)[*+?{]|\\[1-9]|\(\?[^:i]")


def _linear_engine() -> Any:
    found = importlib.util.find_spec("re2")
    # A directory of that name is a package, too, as far as Python is concerned.
    return importlib.import_module("re2") if found is not None and found.origin is not None else None


_re2 = _linear_engine()


def matcher(pattern: str) -> Callable[[str], bool] | str:
    """Whether a topic name matches, or a sentence that says what is wrong with the pattern."""
    if len(pattern) > PATTERN_LENGTH_MAX:
        return f"the pattern has {len(pattern)} characters, more than {PATTERN_LENGTH_MAX}"
    return _compiled(pattern)


@lru_cache(maxsize=_PATTERNS_KEPT)
def _compiled(pattern: str) -> Callable[[str], bool] | str:
    if _re2 is not None:
        options = _re2.Options()
        options.log_errors = False
        try:
            linear = _re2.compile(pattern, options)
        except _re2.error as wrong:
            why = wrong.args[0]
            return why.decode() if isinstance(why, bytes) else str(why)
        return lambda name: linear.fullmatch(name) is not None
    if _EXPLOSIVE.search(pattern) or len(_REPETITION.findall(pattern)) > _REPETITIONS_MAX:
        return f"the pattern could take too long; without RE2 at most {_REPETITIONS_MAX} repetitions and no repeated groups are taken"
    try:
        backtracking = re.compile(pattern)
    except re.error as wrong:
        return str(wrong)
    return lambda name: backtracking.fullmatch(name) is not None


def matching(pattern: str, names: Iterable[str]) -> frozenset[str]:
    """Nothing for a pattern that cannot be read: it was accepted by another version and lies in the log."""
    matches = matcher(pattern)
    return frozenset() if isinstance(matches, str) else frozenset(filter(matches, names))
