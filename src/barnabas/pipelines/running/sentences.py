"""What went wrong inside Spark, as one sentence for the person who runs the pipeline.

Spark wraps a cause in several exceptions, each with a stack trace in its text. The first line of the innermost one that says something is
what matters; errors that people meet often get words of their own.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from barnabas.pipelines.formats.decoding import UNDECODABLE_MARK
from barnabas.pipelines.session import log_name

# A sentence that fills the screen is not read.
SENTENCE_LENGTH_MAX = 600
_ERROR_CLASS = re.compile(r"(?<!\S)\[[A-Z0-9_]+(?:\.[A-Z0-9_]+)*\]\s*")
_SQL_STATE = re.compile(r"\s*SQLSTATE: \w+")
_EXCEPTION_NAME = re.compile(r"^(?:[a-z][\w$]*\.)+([A-Z][\w$]*(?:Exception|Error))(?::\s*|$)")
# The text of the query's plan has the mark too, with expressions where the position stands here.
_UNDECODABLE = re.compile(re.escape(UNDECODABLE_MARK) + r"(\w+)\|at ([^|(]*)\|([^\n]*?)(?:\s*SQLSTATE: \w+)?\s*$", re.MULTILINE)
_POSITION = re.compile(r"\.?\s*;\s*line (\d+) pos (\d+)\b.*")
_PYTHON_ERROR = re.compile(r"^((?:\w+\.)*)(\w+(?:Error|Exception)): (.+)$", re.MULTILINE)
# PySpark's own wrap what Spark says in words that say it all.
_SPARKS_OWN = "pyspark.errors."

# What Python says of anything that went wrong in the JVM it called, where the JVM's own words are in the text after it; and what the JVM
# says of Python that it had called.
_CALL_INTO_JVM, _CALL_INTO_PYTHON = "Py4JJavaError", "Py4JException"
# The call may have come from Python that the JVM had called; that cause is the whole story again and no news.
_CAUSED_BY = re.compile(r"^Caused by: (?!py4j\.Py4JException: An exception was raised by the Python Proxy)([^\n]+)", re.MULTILINE)
_LOST_TASK = re.compile(r"most recent failure: Lost task [^\n]*?\(TID \d+\) \([^)\n]*\): ([^\n]+)")

# Ours are sentences already, also when they come from a worker.
_OWN = re.compile(r"^barnabas\.pipelines\.errors\.\w+: (.+)$", re.MULTILINE)
# What follows describes the query, with all that its plan may say when something goes wrong.
_DESCRIPTION = "=== Streaming Query ==="

# Many things have a timeout: brokers, databases, Spark's own processes. Only Kafka's client knows that it waited for a broker.
_TIMEOUT = re.compile(r"\b((?:[a-z]\w*\.)*)(\w*TimeoutException)(?:: *([^\n]*))?")
_KAFKA = "org.apache.kafka."

_KNOWN = (
    ("SaslAuthenticationException", "the broker refuses the credentials"),
    ("SslAuthenticationException", "the connection is not trusted (TLS)"),
    ("UnknownTopicOrPartitionException", "a topic it reads or writes does not exist (any more)"),
    ("TopicAuthorizationException", "it may not use one of its topics"),
    ("No resolvable bootstrap urls", "the bootstrap address cannot be resolved"),
    ("Failed to construct kafka", "the Kafka client cannot be configured"),
    ("Some data may have been lost", "records it had not read yet are gone from the topic (set options: {failOnDataLoss: false} to go on)"),
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
    """Without a full stop in front, with one at the end."""
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
        # An exception of Python code on a worker. Where it came from is in its traceback, which the log has.
        return _sentence(f"{kind}: {message.rstrip('.')} ({log_name()} has the traceback)")
    if _CALL_INTO_JVM in text and (java := _CAUSED_BY.findall(text) or _LOST_TASK.findall(text)):
        return _sentence(_without_codes(_EXCEPTION_NAME.sub(r"\1: ", java[-1])))
    return _sentence(_first_line(text) or type(error).__name__)


def _timed_out(package: str, name: str, message: str, text: str) -> str:
    said = f": {message.strip()}" if message.strip() else ""
    if package.startswith(_KAFKA):
        return f"no broker answered in time{said}"
    first = _first_line(text)
    told = f"{name}{said}"
    return f"it took too long: {first}" if told in first or not first else f"it took too long: {first} ({told})"


def text_of(error: BaseException) -> str:
    """All that is known: PySpark keeps the causes of what happened in the JVM apart from the message."""
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
    said = [line for line in lines if line and not line.startswith(("at ", "===", "JVM stacktrace", "...", "+-", ":-", "'"))]
    if not said:
        return ""
    line = said[0]
    # "[STREAM_FAILED] Query [id = ..] terminated with exception: the reason" says the reason last.
    if "terminated with exception: " in line:
        line = line.partition("terminated with exception: ")[2]
    line = _POSITION.sub(r" (line \1, position \2)", _without_codes(line))
    return _EXCEPTION_NAME.sub(r"\1: ", line).strip()


def _without_codes(line: str) -> str:
    """``[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012`` is a division by zero."""
    return _SQL_STATE.sub("", _ERROR_CLASS.sub("", line))


def _sentence(text: str) -> str:
    text = " ".join(text.split()).rstrip(";: ")
    if len(text) > SENTENCE_LENGTH_MAX:
        text = text[:SENTENCE_LENGTH_MAX] + "..."
    return text if text.endswith((".", "!", "?")) else f"{text}."
