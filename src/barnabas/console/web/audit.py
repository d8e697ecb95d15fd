"""The audit log: every change that a caller asked for, whether it was made or refused.

An entry goes to the console's log, to a file of JSON lines if one is named, and to the page of the
latest changes. Secrets and the contents of records are not in it.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from barnabas.client_settings.secrets import HIDDEN, is_secret
from barnabas.console.errors import BadValue, ConsoleError
from barnabas.console.limits import AUDIT_ENTRIES_MAX, AUDIT_VALUE_CHARACTERS_MAX
from barnabas.console.web.operation import Operation
from barnabas.telemetry.logs import EventLog


@dataclass(frozen=True, slots=True)
class AuditEntry:
    time: str
    principal: str
    address: str
    agent: str
    cluster: str
    operation: str
    parameters: dict[str, str]
    outcome: str
    """``done``, or the sentence of the refusal."""


class AuditLog:
    def __init__(self, log: EventLog, file: Path | None) -> None:
        self._log = log
        self._file = file
        self._latest: deque[AuditEntry] = deque(maxlen=AUDIT_ENTRIES_MAX)

    @property
    def latest(self) -> list[AuditEntry]:
        """The newest first."""
        return list(reversed(self._latest))

    def write(
        self, operation: Operation, values: Mapping[str, Any], *, principal: str, address: str, agent: str, cluster: str, outcome: str
    ) -> None:
        entry = AuditEntry(
            time=datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds"),
            principal=principal,
            address=address,
            agent=agent[:AUDIT_VALUE_CHARACTERS_MAX],
            cluster=cluster,
            operation=operation.name,
            parameters=_shown(operation, values),
            outcome=outcome,
        )
        self._latest.append(entry)
        self._log.info("console change", **asdict(entry))
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(entry)) + "\n")


def outcome_of(operation: Operation, error: ConsoleError) -> str:
    """The sentence of the refusal, unless it may quote the value of a secret parameter."""
    refused = error.parameter if isinstance(error, BadValue) else None
    is_hidden = any(each.secret and each.name == refused for each in operation.parameters)
    return f"The parameter {refused} was refused." if is_hidden else error.sentence


def _shown(operation: Operation, values: Mapping[str, Any]) -> dict[str, str]:
    secret = {each.name for each in operation.parameters if each.secret}
    # The value of a setting such as ssl.keystore.password.
    if is_secret(str(values.get("name", ""))):
        secret.add("value")
    shown = {}
    for name, value in values.items():
        if value is None or name == "confirm":
            continue
        text = HIDDEN if name in secret or is_secret(name) else str(value)
        shown[name] = text if len(text) <= AUDIT_VALUE_CHARACTERS_MAX else f"{text[:AUDIT_VALUE_CHARACTERS_MAX]}… ({len(text)} characters)"
    return shown
