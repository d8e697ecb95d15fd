"""CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken, and the removal of expired
tokens.

Times in tokens are wall-clock milliseconds, because tokens outlive controllers. A token ends at
its *expiry* unless it is renewed, and can be renewed up to its *maximum*. It has expired when
either of them is in the past.

The decisions are pure: entropy for new ids and the secret key come from outside. A token's HMAC is
in the response to its creation, and in no record.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.config.settings import BrokerSettings
from barnabas.controller.core.outcome import Outcome
from barnabas.env.entropy import Entropy, random_uuid
from barnabas.metadata.features import METADATA_VERSION
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid, uuid_text
from barnabas.security.delegation_tokens import TokenSecrets, may_renew
from barnabas.security.principal import Principal
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest, CreateDelegationTokenResponse
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse
from barnabas.wire.metadata_records import DelegationTokenRecord, MetadataRecord, RemoveDelegationTokenRecord

# The level of metadata.version (3.6-IV2) from which on brokers understand the records.
METADATA_VERSION_MIN = 14
# Tokens removed in one batch, as in Kafka; the others follow in the next ones.
SWEPT_AT_ONCE_MAX = 1000
_USER = "User"
_LATEST_MS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Tokens:
    """What the settings say about tokens."""

    secrets: TokenSecrets | None  # None without a secret key
    lifetime_ms_max: int
    expiry_ms: int

    @classmethod
    def of(cls, settings: BrokerSettings) -> Tokens:
        key = settings.text_or_none("delegation.token.secret.key")
        return cls(
            None if key is None else TokenSecrets(key),
            settings.integer("delegation.token.max.lifetime.ms"),
            settings.integer("delegation.token.expiry.time.ms"),
        )


def create_delegation_token(
    image: MetadataImage,
    tokens: Tokens,
    entropy: Entropy,
    request: CreateDelegationTokenRequest,
    *,
    requester: Principal,
    wall_ms: int,
) -> Outcome:
    owner = token_owner(request, requester)
    secrets = tokens.secrets
    if secrets is None:
        return Outcome(not_created(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, owner, requester))
    if not _supported(image):
        return Outcome(not_created(ErrorCode.UNSUPPORTED_VERSION, owner, requester))
    if any(renewer.principal_type != _USER for renewer in request.renewers):
        return Outcome(not_created(ErrorCode.INVALID_PRINCIPAL_TYPE, owner, requester))
    asked_ms = request.max_lifetime_ms
    lifetime_ms = min(tokens.lifetime_ms_max, asked_ms) if asked_ms > 0 else tokens.lifetime_ms_max
    max_ms = _later(wall_ms, lifetime_ms)
    record = DelegationTokenRecord(
        owner=str(owner),
        requester=str(requester),
        renewers=[f"{renewer.principal_type}:{renewer.principal_name}" for renewer in request.renewers],
        issue_timestamp=wall_ms,
        max_timestamp=max_ms,
        expiration_timestamp=min(max_ms, _later(wall_ms, tokens.expiry_ms)),
        token_id=uuid_text(Uuid(random_uuid(entropy))),
    )
    response = CreateDelegationTokenResponse(
        error_code=ErrorCode.NONE,
        principal_type=owner.type,
        principal_name=owner.name,
        token_requester_principal_type=requester.type,
        token_requester_principal_name=requester.name,
        issue_timestamp_ms=record.issue_timestamp,
        expiry_timestamp_ms=record.expiration_timestamp,
        max_timestamp_ms=record.max_timestamp,
        token_id=record.token_id,
        hmac=secrets.hmac(record.token_id),
        throttle_time_ms=0,
    )
    return Outcome(response, [record])


def token_owner(request: CreateDelegationTokenRequest, requester: Principal) -> Principal:
    """The owner that the request names, or else the requester."""
    if not request.owner_principal_name:
        return requester
    return Principal(request.owner_principal_type or "", request.owner_principal_name)


def not_created(error: ErrorCode, owner: Principal, requester: Principal, timestamp_ms: int = 0) -> CreateDelegationTokenResponse:
    return CreateDelegationTokenResponse(
        error_code=error,
        principal_type=owner.type,
        principal_name=owner.name,
        token_requester_principal_type=requester.type,
        token_requester_principal_name=requester.name,
        issue_timestamp_ms=timestamp_ms,
        expiry_timestamp_ms=timestamp_ms,
        max_timestamp_ms=timestamp_ms,
        token_id="",
        hmac=b"",
        throttle_time_ms=0,
    )


def renew_delegation_token(
    image: MetadataImage, tokens: Tokens, request: RenewDelegationTokenRequest, *, principal: Principal, wall_ms: int
) -> Outcome:
    found = _find(image, tokens, bytes(request.hmac))
    if isinstance(found, ErrorCode):
        return _renewed(found)
    if _expired(found, wall_ms):
        return _renewed(ErrorCode.DELEGATION_TOKEN_EXPIRED)
    if not may_renew(found, principal):
        return _renewed(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
    asked_ms = request.renew_period_ms
    period_ms = min(tokens.expiry_ms, asked_ms) if asked_ms > 0 else tokens.expiry_ms
    expiry_ms = min(found.max_timestamp, _later(wall_ms, period_ms))
    return _renewed(ErrorCode.NONE, expiry_ms, [_with_expiry(found, expiry_ms)])


def expire_delegation_token(
    image: MetadataImage, tokens: Tokens, request: ExpireDelegationTokenRequest, *, principal: Principal, wall_ms: int
) -> Outcome:
    """A negative period removes the token now, even one that has expired already."""
    found = _find(image, tokens, bytes(request.hmac))
    if isinstance(found, ErrorCode):
        return _ended(found)
    if not may_renew(found, principal):
        return _ended(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
    if request.expiry_time_period_ms < 0:
        return _ended(ErrorCode.NONE, wall_ms, [RemoveDelegationTokenRecord(token_id=found.token_id)])
    if _expired(found, wall_ms):
        return _ended(ErrorCode.DELEGATION_TOKEN_EXPIRED)
    expiry_ms = min(found.max_timestamp, _later(wall_ms, request.expiry_time_period_ms))
    return _ended(ErrorCode.NONE, expiry_ms, [_with_expiry(found, expiry_ms)])


def expired_tokens(image: MetadataImage, *, wall_ms: int) -> tuple[Sequence[MetadataRecord], bool]:
    """Records that remove expired tokens, and whether there may be more of them."""
    records: list[MetadataRecord] = []
    for token in image.delegation_tokens.by_id.values():
        if len(records) == SWEPT_AT_ONCE_MAX:
            return records, True
        if _expired(token, wall_ms):
            records.append(RemoveDelegationTokenRecord(token_id=token.token_id))
    return records, False


def _supported(image: MetadataImage) -> bool:
    return image.features.level(METADATA_VERSION) >= METADATA_VERSION_MIN


def _find(image: MetadataImage, tokens: Tokens, hmac: bytes) -> DelegationTokenRecord | ErrorCode:
    if tokens.secrets is None:
        return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    if not _supported(image):
        return ErrorCode.UNSUPPORTED_VERSION
    by_id = image.delegation_tokens.by_id
    token_id = tokens.secrets.find(hmac, by_id)
    return ErrorCode.DELEGATION_TOKEN_NOT_FOUND if token_id is None else by_id[token_id]


def _expired(token: DelegationTokenRecord, wall_ms: int) -> bool:
    return token.max_timestamp < wall_ms or token.expiration_timestamp < wall_ms


def _with_expiry(token: DelegationTokenRecord, expiry_ms: int) -> DelegationTokenRecord:
    return DelegationTokenRecord(
        owner=token.owner,
        requester=token.requester,
        renewers=token.renewers,
        issue_timestamp=token.issue_timestamp,
        max_timestamp=token.max_timestamp,
        expiration_timestamp=expiry_ms,
        token_id=token.token_id,
    )


def _later(wall_ms: int, period_ms: int) -> int:
    """Periods may be as long as a field can say, so a sum may exceed its range."""
    return min(_LATEST_MS, wall_ms + period_ms)


def _renewed(error: ErrorCode, expiry_ms: int = 0, records: Sequence[MetadataRecord] = ()) -> Outcome:
    return Outcome(RenewDelegationTokenResponse(error_code=error, expiry_timestamp_ms=expiry_ms, throttle_time_ms=0), records)


def _ended(error: ErrorCode, expiry_ms: int = 0, records: Sequence[MetadataRecord] = ()) -> Outcome:
    return Outcome(ExpireDelegationTokenResponse(error_code=error, expiry_timestamp_ms=expiry_ms, throttle_time_ms=0), records)
