"""The result of a decision: the records that carry it out, and the response to send once they are
committed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barnabas.model.dataclass import dataclass
from barnabas.wire.metadata_records import MetadataRecord


@dataclass(frozen=True, slots=True)
class Outcome:
    """``records`` take effect together: they go into the log as one batch. If there is a
    ``kraft_version``, the quorum is raised to it before that batch, with records of its own."""

    response: Any
    records: Sequence[MetadataRecord] = ()
    kraft_version: int | None = None
