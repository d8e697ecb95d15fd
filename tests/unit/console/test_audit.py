from __future__ import annotations

import pytest

from barnabas.client_settings.secrets import HIDDEN
from barnabas.console.catalogue import OPERATIONS
from barnabas.console.errors import BadValue
from barnabas.console.web.audit import AuditLog, outcome_of
from barnabas.console.web.operation import Operation
from barnabas.telemetry.logs import EventLog


def _operation(name: str) -> Operation:
    return next(each for each in OPERATIONS if each.name == name)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("produce_record", ("key", "value", "headers")), ("redrive_letter", ("key", "value", "headers")), ("produce_file", ("file",))],
)
def test_the_contents_of_records_are_not_in_the_audit_log(name: str, parameters: tuple[str, ...]) -> None:
    log = AuditLog(EventLog("FATAL"), None)
    values = dict.fromkeys(parameters, "4111 1111")
    log.write(_operation(name), {"topic": "t", **values}, principal="p", address="", agent="", cluster="c", outcome="done")
    (entry,) = log.latest
    assert entry.parameters == {"topic": "t", **dict.fromkeys(parameters, HIDDEN)}


def test_a_refusal_that_may_quote_a_record_is_not_in_the_audit_log() -> None:
    operation = _operation("produce_record")
    assert outcome_of(operation, BadValue("4111 1111 is no int.", "value")) == "The parameter value was refused."
    assert outcome_of(operation, BadValue("There is no partition 7.", "partition")) == "There is no partition 7."
