"""Turns errors inside Spark into one sentence for the person who runs the pipeline.

Spark wraps a cause in several exceptions, each with a stack trace in its text. The first line of
the innermost meaningful exception is the one that matters; common errors get sentences of their
own.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from barnabas.pipelines.formats.decoding import UNDECODABLE_MARK
from barnabas.pipelines.session import log_name

# Users do not read a sentence that fills the screen, so longer ones are cut.
SENTENCE_LENGTH_MAX = 600
_ERROR_CLASS = re.compile(r"(?<!\S)\[[A-Z0-9_]+(?:\.[A-Z0-9_]+)*\]\s*")
_SQL_STATE = re.compile(r"\s*SQLSTATE: \w+")
_EXCEPTION_NAME = re.compile(r"^(?:[a-z][\w$]*\.)+([A-Z][\w$]*(?:Exception|Error))(?::\s*|$)")
# The text of the query's plan has the mark too, with expressions in place of the position.
_UNDECODABLE = re.compile(re.escape(UNDECODABLE_MARK) + r"(\w+)\|at ([^|(]*)\|([^\n]*?)(?:\s*SQLSTATE: \w+)?\s*$", re.MULTILINE)
_POSITION = re.compile(r"\.?\s*;\s*line (\d+) pos (\d+)\b.*")
_PYTHON_ERROR = re.compile(r"^((?:\w+\.)*)(\w+(?:Error|Exception)): (.+)$", re.MULTILINE)
# PySpark's own exceptions carry Spark's full message.
_SPARKS_OWN = "pyspark.errors."

# The names of exceptions for failed calls between Python and the JVM: py4j's for a call into the
# JVM, with the JVM's message in the text after it, and the JVM's for a call into Python.
_CALL_INTO_JVM, _CALL_INTO_PYTHON = "Py4JJavaError", "Py4JException"
# The first line of such an error names a call of ours; the JVM's own error follows.
_CALLED = re.compile(r"^An error occurred while calling \S+\n: ([^\n]+)", re.MULTILINE)
# The call may have come from Python that the JVM had called; that cause repeats the whole story.
_CAUSED_BY = re.compile(r"^Caused by: (?!py4j\.Py4JException: An exception was raised by the Python Proxy)([^\n]+)", re.MULTILINE)
_LOST_TASK = re.compile(r"most recent failure: Lost task [^\n]*?\(TID \d+\) \([^)\n]*\): ([^\n]+)")

# Our own errors are sentences already, also when they come from a worker.
_OWN = re.compile(r"^barnabas\.pipelines\.errors\.\w+: (.+)$", re.MULTILINE)
# The text after this describes the query and its plan, which may contain anything.
_DESCRIPTION = "=== Streaming Query ==="

# Many things have a timeout: brokers, databases, Spark's own processes. Only the timeout of Kafka's
# client means that a broker did not answer.
_TIMEOUT = re.compile(r"\b((?:[a-z]\w*\.)*)(\w*TimeoutException)(?:: *([^\n]*))?")
_KAFKA = "org.apache.kafka."

_KNOWN = (
    ("SaslAuthenticationException", "the broker refuses the credentials"),
    ("SslAuthenticationException", "the connection is not trusted (TLS)"),
    ("UnknownTopicOrPartitionException", "a topic it reads or writes does not exist (any more)"),
    ("TopicAuthorizationException", "it may not use one of its topics"),
    ("No resolvable bootstrap urls", "the bootstrap address cannot be resolved"),
    ("Failed to construct kafka", "the Kafka client cannot be configured"),
    (
        "Some data may have been lost",
        "records it had not read yet are gone from the topic (set options: {failOnDataLoss: false} to continue)",
    ),
    ("Python worker failed to connect back", "a Python worker did not start within Spark's ten seconds; is this machine too busy?"),
    ("Failed to find data source: kafka", "Spark has no Kafka connector: give spark-submit --packages $(barnabas pipelines packages FILE)"),
)


class UndecodableRecord(NamedTuple):
    source: str
    position: str
    reason: str


def undecodable(text: str) -> UndecodableRecord | None:
    match = _UNDECODABLE.search(text)
    return None if match is None else UndecodableRecord(*match.groups())


def sentence_of(error: BaseException) -> str:
    """One sentence with a full stop at the end."""
    text = text_of(error)
    if record := undecodable(text):
        return _sentence(f"source {record.source!r} read a record it cannot decode ({record.position}): {record.reason}")
    if own := _OWN.findall(text):
        return _sentence(own[-1])
    for sign, words in _KNOWN:
        if sign in text:
            return _sentence(words)
    if timeout := _TIMEOUT.search(text):
        return _sentence(_timed_out(timeout[1] or "", timeout[2], timeout[3] or "", text))
    python = [each for each in _PYTHON_ERROR.findall(text) if each[1] not in (_CALL_INTO_JVM, _CALL_INTO_PYTHON)]
    if python and "Traceback (most recent call last)" in text:
        module, kind, message = python[-1]
        if module.startswith(_SPARKS_OWN):
            return _sentence(_without_codes(message))
        # An exception of Python code on a worker. The log has its traceback.
        return _sentence(f"{kind}: {message.rstrip('.')} ({log_name()} has the traceback)")
    if _CALL_INTO_JVM in text and (java := _CAUSED_BY.findall(text) or _LOST_TASK.findall(text)):
        return _sentence(_without_codes(_EXCEPTION_NAME.sub(r"\1: ", java[-1])))
    if called := _CALLED.match(text):
        return _sentence(_without_codes(_EXCEPTION_NAME.sub(r"\1: ", called[1])))
    return _sentence(_first_line(text) or type(error).__name__)


def _timed_out(package: str, name: str, message: str, text: str) -> str:
    detail = f": {message.strip()}" if message.strip() else ""
    if package.startswith(_KAFKA):
        return f"no broker answered in time{detail}"
    first = _first_line(text)
    described = f"{name}{detail}"
    return f"it timed out: {first}" if described in first or not first else f"it timed out: {first} ({described})"


def text_of(error: BaseException) -> str:
    """The message and its causes: PySpark keeps the causes inside the JVM apart from the
    message."""
    texts = []
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        texts.append(str(each).partition(_DESCRIPTION)[0] or type(each).__name__)
        each = getattr(each, "_cause", None) or each.__cause__
    return "\n".join(texts)


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()]
    lines_left = [line for line in lines if line and not line.startswith(("at ", "===", "JVM stacktrace", "...", "+-", ":-", "'"))]
    if not lines_left:
        return ""
    line = lines_left[0]
    # "[STREAM_FAILED] Query [id = ..] terminated with exception: the reason" has the reason last.
    if "terminated with exception: " in line:
        line = line.partition("terminated with exception: ")[2]
    line = _POSITION.sub(r" (line \1, position \2)", _without_codes(line))
    return _EXCEPTION_NAME.sub(r"\1: ", line).strip()


def _without_codes(line: str) -> str:
    """``[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012`` becomes ``Division by zero.``"""
    return _SQL_STATE.sub("", _ERROR_CLASS.sub("", line))


def _sentence(text: str) -> str:
    text = " ".join(text.split()).rstrip(";: ")
    if len(text) > SENTENCE_LENGTH_MAX:
        text = text[:SENTENCE_LENGTH_MAX] + "..."
    return text if text.endswith((".", "!", "?")) else f"{text}."
