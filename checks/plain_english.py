"""Names the tics of odd English in our prose: ``python -m checks.plain_english [path ...]``.

Read are comments, docstrings, names of tests and Markdown; and sentences in strings, outside of
tests, because users see them in help, errors and logs. Text between backticks is code and skipped.
Comments and docstrings must end before column 100, and rows of Markdown tables before column 160.

Without paths the whole tree is read.

The phrases themselves are in :mod:`checks.tics`.
"""

import ast
import os
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from checks.tics import TICS

ROOTS = ("src", "tests", "bench", "examples", "peers", "checks", "docs", "docs_site", "deploy", ".")
PROSE_COLUMNS = 100
TABLE_COLUMNS = 160

# Comments that address a tool. Their length is the tool's business.
_DIRECTIVE = re.compile(r"#\s*(?:noqa|type:|ruff:|mypy:|fmt:|pragma:|!)")
# A comment, or a string that may have a # in it. The tokenizer of the standard library would take
# half the time of a whole check.
_COMMENT_OR_STRING = re.compile(r"""(?s)#[^\n]*|\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""")
_CODE = re.compile(r"``[^`]*``|`[^`\n]*`")
_FENCE = re.compile(r"^\s*(```|~~~)")
# A string that is a sentence rather than a name, a key or a pattern.
_SENTENCE = re.compile(r"[A-Za-z]{2,} [a-z]+ [a-z]+")
# It ends a sentence, so every pattern that matches in a passage also matches in the joined text.
_BETWEEN_PASSAGES = "\n.\n"
# The fields of a node that hold statements, or handlers and cases, which hold statements in turn.
_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")


@dataclass(frozen=True, slots=True)
class Finding:
    path: Path
    line: int
    tic: str
    suggestion: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.tic}: {self.suggestion}"


@dataclass(frozen=True, slots=True)
class Passage:
    """Running text and the lines of the file that its lines come from."""

    text: str
    lines: tuple[int, ...]
    heading: bool = False

    def line_at(self, position: int) -> int:
        starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        return self.lines[min(bisect_right(starts, position), len(self.lines)) - 1]


def main(arguments: Sequence[str]) -> int:
    findings = sorted(_findings(arguments), key=lambda finding: (str(finding.path), finding.line))
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} tics; checks/tics.py has the list and the reasons")
    return 1 if findings else 0


def _findings(paths: Sequence[str]) -> Iterator[Finding]:
    for path in _files(paths or filter(os.path.exists, ROOTS)):
        yield from check(path, path.read_text(encoding="utf-8"))


def _files(roots: Iterable[str]) -> Iterator[Path]:
    for root in map(Path, roots):
        if root == Path():
            yield from sorted(root.glob("*.md"))
        elif root.is_dir():
            yield from sorted(path for path in root.rglob("*") if path.suffix in (".py", ".md"))
        else:
            yield root


def check(path: Path, source: str) -> list[Finding]:
    """The tics of one file. ``path`` decides how it is read, and whether its strings are prose."""
    if path.suffix == ".md":
        passages, findings = _markdown(source), _wide_table_rows(path, source)
    else:
        strings_are_prose = path.parts[0] not in ("tests", "checks")
        file = PythonFile.parse(source, expressions=strings_are_prose)
        findings = _wide_prose(path, file)
        passages = [*_comments(file), *_docstrings(file), *_test_names(file)]
        if strings_are_prose:
            passages += _strings(file)
    return findings + list(_tics(path, passages))


def _tics(path: Path, passages: Sequence[Passage]) -> Iterator[Finding]:
    texts = [_CODE.sub(lambda match: re.sub(r"[^\n]", "`", match[0]), passage.text) for passage in passages]
    whole = _BETWEEN_PASSAGES.join(texts)
    # Most files have no tic at all, and one search of a whole file is cheaper than many short ones.
    suspects = [tic for tic in TICS if tic.pattern.search(whole)]
    for passage, text in zip(passages, texts, strict=True):
        for tic in suspects:
            if passage.heading and not tic.in_headings:
                continue
            for match in tic.pattern.finditer(text):
                yield Finding(path, passage.line_at(match.start()), tic.name, tic.suggestion)


@dataclass(frozen=True, slots=True)
class Comment:
    line: int
    column: int
    text: str


@dataclass(frozen=True, slots=True)
class PythonFile:
    """A module taken apart once: its lines, comments, nodes and docstrings."""

    lines: list[str]
    comments: list[Comment]
    nodes: list[ast.AST]
    docstrings: list[ast.Constant]

    @classmethod
    def parse(cls, source: str, *, expressions: bool) -> "PythonFile":
        """``nodes`` has expressions only on request: they are most of a module, and only strings
        are in them."""
        lines = source.split("\n")
        nodes = list(_walk(ast.parse(source)) if expressions else _statements(ast.parse(source)))
        return cls(lines, list(_comments_in(source)), nodes, list(filter(None, map(_docstring, nodes))))


def _comments_in(source: str) -> Iterator[Comment]:
    line, line_start, seen = 1, 0, 0
    for match in _COMMENT_OR_STRING.finditer(source):
        if source[match.start()] != "#":
            continue
        newlines = source.count("\n", seen, match.start())
        if newlines:
            line, line_start = line + newlines, source.rindex("\n", seen, match.start()) + 1
        seen = match.start()
        yield Comment(line, match.start() - line_start, match[0].rstrip())


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node, parents before their children. Contexts and operators have no text, so this
    does not visit them, and takes a third of the time of ``ast.walk``."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for value in node.__dict__.values():
            if type(value) is list:
                waiting.extend(each for each in value if isinstance(each, ast.AST))
            elif isinstance(value, ast.expr | ast.stmt | ast.arguments):
                waiting.append(value)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """The module and every statement in it."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.mod | ast.stmt):
            yield node
        for name in _BLOCKS:
            waiting.extend(getattr(node, name, ()))


def _docstring(node: ast.AST) -> ast.Constant | None:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    match node.body:
        case [ast.Expr(value=ast.Constant(value=str()) as constant), *_]:
            return constant
        case _:
            return None


def _comments(file: PythonFile) -> list[Passage]:
    """Comments on consecutive lines are one passage."""
    blocks: list[list[tuple[int, str]]] = []
    for comment in file.comments:
        if _DIRECTIVE.match(comment.text):
            continue
        line, text = comment.line, comment.text.lstrip("#").strip()
        alone = not file.lines[line - 1][: comment.column].strip()
        if blocks and alone and blocks[-1][-1][0] == line - 1:
            blocks[-1].append((line, text))
        else:
            blocks.append([(line, text)])
    return list(map(_passage, blocks))


def _docstrings(file: PythonFile) -> list[Passage]:
    return [_passage_from(str(constant.value), constant.lineno) for constant in file.docstrings]


def _test_names(file: PythonFile) -> list[Passage]:
    return [
        Passage("\n" + node.name.replace("_", " "), (node.lineno, node.lineno))
        for node in file.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]


def _strings(file: PythonFile) -> list[Passage]:
    """Sentences in strings. The nodes come from the top, so an f-string comes before its parts."""
    seen = set(map(id, file.docstrings))
    passages = []
    for node in file.nodes:
        if isinstance(node, ast.JoinedStr):
            seen.update(map(id, node.values))
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in seen:
            text = node.value
        else:
            continue
        if _SENTENCE.search(text):
            passages.append(_passage_from(text, node.lineno))
    return passages


def _passage_from(text: str, first_line: int) -> Passage:
    return _passage([(number, line.strip()) for number, line in enumerate(text.split("\n"), first_line)])


def _passage(numbered: list[tuple[int, str]]) -> Passage:
    return Passage("\n".join(text for _, text in numbered), tuple(number for number, _ in numbered))


def _wide_prose(path: Path, file: PythonFile) -> list[Finding]:
    wide = {each.line for each in file.comments if each.column + len(each.text) > PROSE_COLUMNS and not _DIRECTIVE.search(each.text)}
    for constant in file.docstrings:
        for number in range(constant.lineno, (constant.end_lineno or constant.lineno) + 1):
            if len(file.lines[number - 1]) > PROSE_COLUMNS:
                wide.add(number)
    return [
        Finding(path, number, f"prose over {PROSE_COLUMNS} columns", "wrap it")
        for number in sorted(wide)
        if "://" not in file.lines[number - 1]
    ]


def _markdown(source: str) -> list[Passage]:
    """Paragraphs, list items and rows, each line of text as it stands; fenced code is left out."""
    passages: list[Passage] = []
    block: list[tuple[int, str]] = []

    def end_block() -> None:
        if block:
            passages.append(_passage(block))
            block.clear()

    fenced = False
    for number, line in enumerate(source.split("\n"), 1):
        text = line.strip()
        if _FENCE.match(line):
            end_block()
            fenced = not fenced
        elif fenced:
            continue
        elif text.startswith("#"):
            end_block()
            passages.append(Passage(text.lstrip("# "), (number,), heading=True))
        elif not text or text.startswith(("-", "*", "|", "1.")):
            end_block()
            block.extend([(number, text.lstrip("-*| "))] if text else [])
        else:
            block.append((number, text))
    end_block()
    return passages


def _wide_table_rows(path: Path, source: str) -> list[Finding]:
    return [
        Finding(path, number, f"table row over {TABLE_COLUMNS} columns", "shorten it, or make it a list")
        for number, line in enumerate(source.split("\n"), 1)
        if line.startswith("|") and len(line) > TABLE_COLUMNS
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
