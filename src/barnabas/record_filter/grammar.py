"""From the text of a filter to a predicate, by recursive descent.

Every function of the parser takes the tokens that it understands and returns a function of a
:class:`~.subject.Subject`, so that the text is read once and not for every record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from barnabas.record_filter.subject import Step, Subject, walk

# Longer than any condition that a person types; it bounds the work for each record.
FILTER_LENGTH_MAX = 4000
# Parentheses and ``not`` inside each other. The parser calls itself for each.
DEPTH_MAX = 50

Operand = Callable[[Subject], Any]
Condition = Callable[[Subject], bool]

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>"(?:[^"\\]|\\.)*")
      | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
      | (?P<word>[^\W\d][\w-]*)
      | (?P<mark>==|!=|<=|>=|=~|[<>().\[\]])
    )""",
    re.VERBOSE,
)
_ROOTS = ("value", "key", "headers", "topic", "partition", "offset", "timestamp")
_CONSTANTS = {"true": True, "false": False, "null": None}
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


class FilterRefused(ValueError):
    """The text is no filter; the message is a sentence with the place of the mistake."""


def parse_filter(text: str) -> Condition:
    """Raises :class:`FilterRefused`."""
    if len(text) > FILTER_LENGTH_MAX:
        raise FilterRefused(f"A filter takes at most {FILTER_LENGTH_MAX} characters, but was given {len(text)}.")
    return _Parser(text).parse()


class Token(NamedTuple):
    kind: str  # text, number, word, mark, or end
    text: str
    position: int


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._split()
        self._next = 0
        self._depth = 0

    def parse(self) -> Condition:
        condition = self._any_of()
        if self._peek().kind != "end":
            raise self._refusal("'and', 'or' or the end")
        return condition

    def _any_of(self) -> Condition:
        parts = [self._all_of()]
        while self._take_word("or"):
            parts.append(self._all_of())
        return parts[0] if len(parts) == 1 else lambda subject: any(part(subject) for part in parts)

    def _all_of(self) -> Condition:
        parts = [self._test()]
        while self._take_word("and"):
            parts.append(self._test())
        return parts[0] if len(parts) == 1 else lambda subject: all(part(subject) for part in parts)

    def _test(self) -> Condition:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise FilterRefused(f"A filter takes at most {DEPTH_MAX} parentheses inside each other.")
        try:
            if self._take_word("not"):
                negated = self._test()
                return lambda subject: not negated(subject)
            if self._take_mark("("):
                inner = self._any_of()
                self._expect(")")
                return inner
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Condition:
        token = self._peek()
        left = self._operand()
        operator = self._peek().text if self._peek().kind == "mark" else ""
        if operator not in ("==", "!=", "=~", *_ORDERS):
            if token.kind in ("text", "number") or token.text in _CONSTANTS:
                raise self._refusal("an operator")
            return lambda subject: _is_there(left(subject))
        self._next += 1
        if operator == "=~":
            return self._matching(left)
        right = self._operand()
        match operator:
            case "==":
                return lambda subject: _equal(left(subject), right(subject))
            case "!=":
                return lambda subject: not _equal(left(subject), right(subject))
            case _:
                in_order = _ORDERS[operator]
                return lambda subject: _ordered(in_order, left(subject), right(subject))

    def _matching(self, left: Operand) -> Condition:
        # Most filters have no pattern, and RE2 takes a while to load.
        from barnabas.model.pattern import matcher

        token = self._take()
        if token.kind != "text":
            raise self._refusal("a pattern in double quotes", token)
        pattern = self._string(token)
        # The pattern alone comes first: `a)|(b` is valid only in the parentheses. `\Qa` is valid
        # only outside of them, because it quotes the closing one too.
        for each in (pattern, within := f"(?s:.*)(?:{pattern})(?s:.*)"):
            if isinstance(problem := matcher(each), str):
                raise FilterRefused(f"The filter has an invalid pattern {token.text}: {problem}.")
        search = matcher(within)
        assert not isinstance(search, str), search

        def matches(subject: Subject) -> bool:
            text = left(subject)
            return isinstance(text, str) and search(_whole_characters(text))

        return matches

    def _operand(self) -> Operand:
        token = self._take()
        match token:
            case Token("text"):
                text = self._string(token)
                return lambda _: text
            case Token("number"):
                number = self._number(token)
                return lambda _: number
            case Token("mark", "."):
                steps = self._first_steps()
                return lambda subject: walk(subject.value(), steps)
            case Token("word", word) if word in _CONSTANTS:
                constant = _CONSTANTS[word]
                return lambda _: constant
            case Token("word", word) if word in _ROOTS:
                return self._path(word, self._more_steps())
            case Token("word", word):
                raise FilterRefused(
                    f"A filter knows no field {word}: a field of the value begins with a dot, as in .{word}; "
                    f"without a dot there are {', '.join(_ROOTS)}. Text stands in double quotes."
                )
            case _:
                raise self._refusal("a field such as .amount, a number or a text in double quotes", token)

    def _first_steps(self) -> list[Step]:
        token = self._peek()
        adjacent = token.kind in ("word", "text") and self._text[token.position - 1] == "."
        return [self._name(), *self._more_steps()] if adjacent else self._more_steps()

    def _more_steps(self) -> list[Step]:
        steps: list[Step] = []
        while True:
            if self._take_mark("."):
                steps.append(self._name())
            elif self._take_mark("["):
                steps.append(self._index())
                self._expect("]")
            else:
                return steps

    def _name(self) -> str:
        token = self._take()
        if token.kind == "word":
            return token.text
        if token.kind == "text":
            return self._string(token)
        raise self._refusal("the name of a field", token)

    def _index(self) -> Step:
        token = self._take()
        if token.kind == "text":
            return self._string(token)
        if token.kind == "number" and re.fullmatch(r"-?\d{1,9}", token.text):
            return int(token.text)
        raise self._refusal("a whole number or a name in double quotes", token)

    def _path(self, root: str, steps: list[Step]) -> Operand:
        match root:
            case "value" if steps:
                return lambda subject: walk(subject.value(), steps)
            case "value":
                return lambda subject: subject.value_text()
            case "key" if steps:
                return lambda subject: walk(subject.key(), steps)
            case "key":
                return lambda subject: subject.key_text()
            case "headers":
                return self._headers(steps)
            case _:
                if steps:
                    raise FilterRefused(f"The filter cannot look inside {root}, which is one value.")
                return _META[root]

    def _headers(self, steps: list[Step]) -> Operand:
        match steps:
            case []:
                return lambda subject: subject.has_headers()
            case [str(name)]:
                return lambda subject: subject.header(name)
            case _:
                raise FilterRefused('A filter takes one name after headers, as in headers.trace or headers["trace-id"].')

    def _string(self, token: Token) -> str:
        try:
            text: str = json.loads(token.text)
            # JSON has escapes for halves of surrogate pairs, and RE2 takes UTF-8, which has not.
            text.encode()
        except ValueError as error:
            raise self._refusal("a text with JSON's escapes and no half of a surrogate pair", token) from error
        return text

    def _number(self, token: Token) -> Any:
        try:
            return json.loads(token.text)
        except ValueError as error:
            raise self._refusal("a number as in JSON, which does not begin with 0", token) from error

    def _split(self) -> list[Token]:
        tokens = []
        position = 0
        end = len(self._text.rstrip())
        while position < end:
            found = _TOKEN.match(self._text, position)
            if found is None:
                raise self._unreadable(position)
            kind = found.lastgroup
            assert kind is not None
            tokens.append(Token(kind, found[kind], found.start(kind)))
            position = found.end()
        return [*tokens, Token("end", "", end)]

    def _unreadable(self, position: int) -> FilterRefused:
        rest = self._text[position:].lstrip()
        hint = {"=": "; use == for equality", "&": "; use and", "|": "; use or", "'": "; text stands in double quotes"}.get(rest[0], "")
        hint = "; the text has no closing quote" if rest[0] == '"' else hint
        at = len(self._text) - len(rest) + 1
        return FilterRefused(f"The filter cannot read {rest[0]!r} at character {at} of {self._text!r}{hint}.")

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._tokens[self._next]
        if token.kind != "end":
            self._next += 1
        return token

    def _take_word(self, word: str) -> bool:
        return self._take_if(Token("word", word, 0))

    def _take_mark(self, mark: str) -> bool:
        return self._take_if(Token("mark", mark, 0))

    def _take_if(self, wanted: Token) -> bool:
        if self._peek()[:2] != wanted[:2]:
            return False
        self._next += 1
        return True

    def _expect(self, mark: str) -> None:
        if not self._take_mark(mark):
            raise self._refusal(repr(mark))

    def _refusal(self, expected: str, token: Token | None = None) -> FilterRefused:
        found = token or self._peek()
        shown = "the end" if found.kind == "end" else f"{found.text!r} at character {found.position + 1}"
        return FilterRefused(f"The filter expects {expected}, but found {shown} of {self._text!r}.")


_META: dict[str, Operand] = {
    "topic": lambda subject: subject.topic,
    "partition": lambda subject: subject.partition,
    "offset": lambda subject: subject.offset,
    "timestamp": lambda subject: subject.timestamp,
}


def _whole_characters(text: str) -> str:
    """JSON in a record may have halves of surrogate pairs, which RE2 does not take."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_there(value: Any) -> bool:
    """Also 0 and the empty text are there."""
    return value is not None and value is not False


def _equal(left: Any, right: Any) -> bool:
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _ordered(in_order: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    comparable = (_is_number(left) and _is_number(right)) or (isinstance(left, str) and isinstance(right, str))
    return comparable and in_order(left, right)
