"""What may come of a request about one transactional id."""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal, TypeAlias

from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.coordinators.transaction.transaction import Transaction
from barnabas.model.errors import ErrorCode


class _Need(Enum):
    PRODUCER_ID = "a producer id"


# Ask again with a producer id that nobody has had. Those come from the controller, and a machine does not wait.
NEEDS_PRODUCER_ID: Final = _Need.PRODUCER_ID
NeedsProducerId: TypeAlias = Literal[_Need.PRODUCER_ID]

# A step to write, an identity that is there already, a refusal, or a question.
Decision: TypeAlias = Transaction | ProducerIdentity | ErrorCode | NeedsProducerId

# What is answered of it.
Granted: TypeAlias = ProducerIdentity | ErrorCode | NeedsProducerId
