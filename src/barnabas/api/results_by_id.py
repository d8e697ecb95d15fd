"""Answers with one result for each id of a list, such as the groups that a client describes.

The operations begin in slices, and their results are encoded in slices
(:mod:`~barnabas.api.sliced_answers`): a request may name a hundred thousand ids.

An id that is named again gets the result again, as in Kafka, but is looked up and encoded once. The
results of a group may be as large as a batch, so the repeated ones of a response have room for
:data:`REPEATED_BYTES_MAX` together; others are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from barnabas.api.broker import Broker
from barnabas.api.needs import Need
from barnabas.api.sliced_answers import Steps
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer, Promise, all_of
from barnabas.network.caller import Caller
from barnabas.wire.compiler import part_encoder
from barnabas.wire.types import EncodedElements

R = TypeVar("R")
T = TypeVar("T")

# No client of Kafka names an id twice. Without a limit a request of a few kilobytes could name a
# large group until its response has gigabytes.
REPEATED_BYTES_MAX: Final = 1024 * 1024

# What steps cost, see `barnabas.api.sliced_answers`.
OPERATION_US: Final = 10
RESULT_US: Final = 3
KILOBYTE_US: Final = 1


def results_by_id(
    broker: Broker,
    caller: Caller,
    ids: Sequence[str],
    *,
    response: type[Any],
    result: type[R],
    need: Need,
    operate: Callable[[str], Promise[R]],
    refused: Callable[[str, ErrorCode], R],
    denied: ErrorCode,
) -> Promise[EncodedElements]:
    """The results of ``operate``, or ``denied`` for an id of which the caller does not have what it
    needs. ``result`` is a struct of ``response`` and has an error code."""
    distinct = list(dict.fromkeys(ids))

    def beginning() -> Steps[list[Promise[R]]]:
        allowed = yield from broker.access.deciding(caller, need, ids)
        begun = []
        for each in distinct:
            begun.append(operate(each) if each in allowed else Promise.kept(refused(each, denied)))
            yield OPERATION_US
        return begun

    def encode(results: list[R]) -> Promise[EncodedElements]:
        encoder = part_encoder(response, result, caller.version)
        found = dict(zip(distinct, results, strict=True))
        return _promised(broker.sliced_answers.make(broker, caller, _encoding(ids, found, encoder, refused)))

    begun = broker.sliced_answers.make(broker, caller, beginning())
    complete = begun.followed_by(all_of) if isinstance(begun, Promise) else all_of(begun)
    return complete.followed_by(encode)


def _encoding(
    ids: Sequence[str],
    found: dict[str, Any],
    encode: Callable[[Any, bytearray], None],
    refused: Callable[[str, ErrorCode], Any],
) -> Steps[EncodedElements]:
    out = bytearray()
    error_codes: list[int] = []
    first_places: dict[str, tuple[int, int]] = {}
    repeated_bytes = 0
    for each in ids:
        value, begin, place = found[each], len(out), first_places.get(each)
        if place is None:
            encode(value, out)
            first_places[each] = begin, len(out)
        elif repeated_bytes < REPEATED_BYTES_MAX:
            out += out[place[0] : place[1]]
            repeated_bytes += len(out) - begin
        else:
            value = refused(each, ErrorCode.INVALID_REQUEST)
            encode(value, out)
        if value.error_code:
            error_codes.append(value.error_code)
        yield RESULT_US + (len(out) - begin) // 1024 * KILOBYTE_US
    return EncodedElements(len(ids), out, error_codes)


def _promised(answer: Answer[T]) -> Promise[T]:
    return answer if isinstance(answer, Promise) else Promise.kept(answer)
