"""The tics of odd English that :mod:`checks.plain_english` looks for.

Add a :class:`Tic` when a review finds a phrase for the third time. A pattern is a regular
expression over running text, without regard to case; ``START`` is the beginning of a sentence,
of a clause behind a colon or a semicolon, or of the claim in the name of a test. Prefer a narrow
pattern that misses a few cases to a wide one that refuses good sentences.
"""

import re
from dataclasses import dataclass

START = r"(?:\A|(?<=[.:;!?]\s)|(?<=\ntest ))"
VERBS = (
    "is|are|was|were|has|had|have|can|cannot|could|may|might|must|will|would|does|did|do|should|"
    "comes|came|follows|followed|goes|went|remains|remained|stays|stayed|lies|lay|belongs|waits|"
    "fails|failed|happens|happened|changes|changed|makes|made|needs|needed|takes|took|reads|writes|"
    "holds|held|runs|ran|stands|stood|gets|got|lives|lived|arrives|arrived|fits|says|said"
)


@dataclass(frozen=True, slots=True)
class Tic:
    """A phrase that reads as if translated, and the advice that is printed for it."""

    name: str
    pattern: re.Pattern[str]
    suggestion: str
    in_headings: bool = True


def _tic(name: str, pattern: str, suggestion: str, *, in_headings: bool = True) -> Tic:
    # The words of a phrase may stand on two lines; a look-behind has a fixed width.
    start, phrase = (START, pattern.removeprefix(START)) if pattern.startswith(START) else ("", pattern)
    return Tic(name, re.compile(start + phrase.replace(" ", r"\s+"), re.IGNORECASE), suggestion, in_headings)


TICS: tuple[Tic, ...] = (
    # A sentence needs a subject that a reader can point at.
    _tic(
        "free 'who'",
        START + r"who (?!am\b)(?![^.;:]{0,200}\?)",
        "name the subject: the broker, the client, the member",
        in_headings=False,
    ),
    _tic(
        "free 'what'",
        START + rf"what (?:(?:{VERBS})\b|nobody\b|no \w+ )(?![^.;:]{{0,200}}\?)",
        "name the thing: the record, the file, the offset",
        in_headings=False,
    ),
    _tic("'whoever'", r"\b(?:whoever|whomever|whosoever)\b", "name the subject: the caller, the client, the reader"),
    _tic(
        "free 'whatever'",
        START + rf"whatever (?:{VERBS})\b",
        "name the thing, with 'every' or 'any' in front",
    ),
    _tic("'nobody'", r"\bnobody\b", "say 'no client', 'no broker', 'nothing', or turn the sentence around"),
    _tic("'somebody'", r"\b(?:somebody|anybody)\b", "name the role: a client, another member, a caller"),
    _tic("'everybody'", r"\beverybody\b", "name them: all members, every replica, all callers"),
    _tic(
        "'those who'",
        r"\b(?:those|he|one|they|anyone|everyone) who\b",
        "programs are 'that', or better by name: members that, clients that",
    ),
    _tic("'he' for a program", r"\b(?:he|him|his|himself|she|herself)\b", "say 'it', or the noun"),
    # Verbs that programs do not have.
    _tic("'shall'", r"\bshall\b", "use the present tense, or 'must'"),
    _tic(
        "'is waited for'",
        r"\bwaited (?:for|upon)\b(?! [a-z])|\b(?:is|are|was|were|be|been|not) waited for\b",
        "say which side waits: 'the caller waits for ...'",
    ),
    _tic(
        "'is told'",
        r"\b(?:is|are|was|were|be|been|being|gets?|not) told\b",
        "say who reports it: 'the coordinator reports ... to the member'",
    ),
    _tic("'is heard of'", r"\bheard (?:of|from)\b", "say what arrives: a heartbeat, a response"),
    _tic("'wish'", r"(?<!you\s)\bwish(?:es|ed)?\b", "say 'setting', 'request' or 'wants'"),
    _tic("'goodbye'", r"\bgood-?bye\b", "say 'controlled shutdown', 'leaves the group' or 'closes the connection'"),
    _tic("'born'", r"\bborn\b", "say 'created' or 'started'"),
    _tic("'so long may'", r"\bso (?:long|often|many|much) may\b", "say 'may take up to ...'"),
    _tic(
        "'is well'",
        r"\b(?:is|are|be) well\b(?![- ](?:formed|known|defined|below|above|under|over|within))",
        "say 'healthy', 'valid' or 'succeeds'",
    ),
    _tic("'in office'", r"\bin office\b", "say 'active'"),
    _tic("'of its own accord'", r"\bof (?:its|their) own accord\b", "say 'without a request' or 'by itself'"),
    _tic(
        "'life' of a process",
        r"\b(?:last|next|former|earlier|previous) li(?:fe|ves)\b|\blived through\b",
        "say 'before the restart' or 'the previous process'",
    ),
    _tic("'is spared'", r"\b(?:is|are|was|were|be) spared\b", "say which work is skipped"),
    _tic("'owes'", r"\b(?:is|are) owed\b|\bowes?\b", "say which response or request is outstanding"),
    _tic("'hang up'", r"\bh(?:ang|angs|ung|anging) up\b", "say 'close the connection'"),
    _tic(
        "'is said'",
        r"\b(?:is|are|was|were|be) said (?:to|with|by|in|of|about)\b",
        "state the fact, or name the file or option that holds it",
    ),
    _tic("'whom'", r"\bwhom\b", "name the role: the broker that, the client that"),
    _tic("'ends in order'", r"\b(?:end|ends|ended|stop|stops|stopped) in order\b(?! to)", "say 'cleanly'"),
    # Phrases of another century, or of another language.
    _tic("'be believed'", r"\b(?:be|is|are) believed\b", "say 'corrupt' or 'unknown'"),
    _tic("'not what it was'", r"\bnot what (?:it|they) (?:was|were)\b", "say 'corrupt' or 'changed'"),
    _tic("'be had'", r"\b(?:be|is|are) had\b", "say 'available'"),
    _tic("'in good order'", r"\bin good order\b", "say 'cleanly'"),
    _tic("'in vain'", r"\bin vain\b", "say 'without success', or which error came back"),
    _tic("'by commas'", r"(?<!separated\s)\bby commas\b", "say 'separated by commas'"),
    _tic("'anew'", r"\banew\b", "say 'again' or 'from scratch'"),
    _tic("'mended'", r"\bmend(?:s|ed|ing)?\b", "say 'fixed' or 'repaired'"),
    _tic("'elder'", r"\b(?:elder|eldest|younger|youngest)\b", "say 'older', 'newer', 'earlier' or 'later'"),
    _tic("'else' at the start", START + r"else,? (?!if\b)", "say 'otherwise'"),
    _tic("'speaks against'", r"\bspeaks? against\b", "say which check fails"),
    _tic("'meant badly'", r"\bmeant (?:badly|well)\b", "say 'malicious' or 'hostile'"),
    _tic("'guests'", r"\bguests?\b", "say 'clients', 'members' or 'connections'"),
)
