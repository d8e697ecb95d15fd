"""AlterUserScramCredentials: set and remove the SCRAM keys of users.

The client sends a salted password and never the password itself. The keys that servers store are
derived here, so that the log holds nothing with which one can log in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.controller.core.outcome import Outcome
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.scram import ScramUser
from barnabas.model.errors import ErrorCode
from barnabas.security.sasl.scram_credentials import ITERATIONS_MAX, ITERATIONS_MIN, ScramMechanism, keys_of
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from barnabas.wire.metadata_records import MetadataRecord, RemoveUserScramCredentialRecord, UserScramCredentialRecord

_MECHANISMS: Mapping[int, ScramMechanism] = {each.number: each for each in ScramMechanism}


class _Refusal(NamedTuple):
    error: ErrorCode
    message: str


_TWICE = _Refusal(ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")


def alter_user_scram_credentials(image: MetadataImage, request: AlterUserScramCredentialsRequest) -> Outcome:
    """Each user has an outcome of its own; the changes of all good ones take effect together."""
    outcomes: dict[str, MetadataRecord | _Refusal] = {}

    def decide(user: str, outcome: MetadataRecord | _Refusal) -> None:
        first = outcomes.get(user)
        outcomes[user] = outcome if first is None else first if isinstance(first, _Refusal) else _TWICE

    for deletion in request.deletions:
        decide(deletion.name, _deletion(image, deletion))
    for upsertion in request.upsertions:
        decide(upsertion.name, _upsertion(upsertion))
    results = [_result(user, outcome) for user, outcome in outcomes.items()]
    records = [each for each in outcomes.values() if not isinstance(each, _Refusal)]
    return Outcome(AlterUserScramCredentialsResponse(throttle_time_ms=0, results=results), records)


def _deletion(image: MetadataImage, deletion: ScramCredentialDeletion) -> MetadataRecord | _Refusal:
    refusal = _of_name_and_mechanism(deletion.name, deletion.mechanism)
    if refusal is not None:
        return refusal
    if ScramUser(deletion.name, deletion.mechanism) not in image.scram.by_user:
        return _Refusal(ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
    return RemoveUserScramCredentialRecord(name=deletion.name, mechanism=deletion.mechanism)


def _upsertion(upsertion: ScramCredentialUpsertion) -> MetadataRecord | _Refusal:
    refusal = _of_name_and_mechanism(upsertion.name, upsertion.mechanism)
    if refusal is not None:
        return refusal
    if upsertion.iterations < ITERATIONS_MIN:
        return _Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if upsertion.iterations > ITERATIONS_MAX:
        return _Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    mechanism = _MECHANISMS[upsertion.mechanism]
    keys = keys_of(mechanism, bytes(upsertion.salted_password), bytes(upsertion.salt), upsertion.iterations)
    return UserScramCredentialRecord(
        name=upsertion.name,
        mechanism=upsertion.mechanism,
        salt=keys.salt,
        stored_key=keys.stored_key,
        server_key=keys.server_key,
        iterations=keys.iterations,
    )


def _of_name_and_mechanism(name: str, mechanism: int) -> _Refusal | None:
    if not name:
        return _Refusal(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if mechanism not in _MECHANISMS:
        return _Refusal(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    return None


def _result(user: str, outcome: MetadataRecord | _Refusal) -> AlterUserScramCredentialsResult:
    if isinstance(outcome, _Refusal):
        return AlterUserScramCredentialsResult(user=user, error_code=outcome.error, error_message=outcome.message)
    return AlterUserScramCredentialsResult(user=user, error_code=ErrorCode.NONE, error_message=None)
