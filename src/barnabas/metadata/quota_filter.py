"""The filter of DescribeClientQuotas: which entities a client asks for."""

from __future__ import annotations

from barnabas.metadata.quotas import QuotaEntity
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.security.quotas.quota_table import CLIENT_ID, IP, USER
from barnabas.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest

# The numbers of the protocol.
MATCH_EXACT, MATCH_DEFAULT, MATCH_ANY = 0, 1, 2
_NAMES = {MATCH_EXACT: "MATCH_TYPE_EXACT", MATCH_DEFAULT: "MATCH_TYPE_DEFAULT", MATCH_ANY: "MATCH_TYPE_SPECIFIED"}


@dataclass(frozen=True, slots=True)
class QuotaFilter:
    parts: QuotaEntity
    """Types with the name that an entity must have; the name None is the default entity."""
    types: frozenset[str]
    """Types that an entity must have, with any name."""
    strict: bool

    def matches(self, entity: QuotaEntity) -> bool:
        if not self.parts <= entity or not self.types <= {kind for kind, _ in entity}:
            return False
        return not self.strict or len(entity) == len(self.parts) + len(self.types)


def read_filter(request: DescribeClientQuotasRequest) -> QuotaFilter:
    """Raises ``KafkaError`` with Kafka's codes and messages."""
    parts: dict[str, str | None] = {}
    types: set[str] = set()
    for component in request.components:
        kind = component.entity_type
        if not kind:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Invalid empty entity type.")
        if kind in parts or kind in types:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in (USER, CLIENT_ID, IP):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        _check_match(component)
        if component.match_type == MATCH_ANY:
            types.add(kind)
        else:
            parts[kind] = component.match
    named = {*parts, *types}
    if IP in named and len(named) > 1:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "Invalid entity filter component combination. IP filter component should not be used with user or clientId filter component.",
        )
    return QuotaFilter(frozenset(parts.items()), frozenset(types), request.strict)


def _check_match(component: ComponentData) -> None:
    name = _NAMES.get(component.match_type)
    if name is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown match type {component.match_type}")
    if component.match_type == MATCH_EXACT:
        if component.match is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Request specified {name}, but set match string to null.")
    elif component.match is not None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Request specified {name}, but also specified a match string.")
