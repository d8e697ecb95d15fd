"""Errors of the JVM as sentences."""

from __future__ import annotations

from barnabas.pipelines.running.sentences import sentence_of


def test_an_error_of_a_call_into_the_jvm_is_the_error_and_not_the_call() -> None:
    text = "An error occurred while calling o1008.load.\n: org.sqlite.SQLiteException: [SQLITE_ERROR] SQL error (no such table)\n\tat x"
    assert sentence_of(Exception(text)) == "SQLiteException: SQL error (no such table)."
