"""The possible results of a request about one transactional id."""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal, TypeAlias

from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.coordinators.transaction.transaction import Transaction
from barnabas.model.errors import ErrorCode


class _Need(Enum):
    PRODUCER_ID = "a producer id"


# The caller must repeat the request with an unused producer id. These come from the controller, and
# a machine does not wait.
NEEDS_PRODUCER_ID: Final = _Need.PRODUCER_ID
NeedsProducerId: TypeAlias = Literal[_Need.PRODUCER_ID]

# A step to write, an existing identity, an error, or the need for a producer id.
Decision: TypeAlias = Transaction | ProducerIdentity | ErrorCode | NeedsProducerId

# The part of a decision that is answered.
Granted: TypeAlias = ProducerIdentity | ErrorCode | NeedsProducerId
