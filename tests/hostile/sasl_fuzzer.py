"""Malformed frames for listeners with SASL: before, during and after authentication.

Every attempt has its own connection. It sends some frames, then a request that only an
authenticated client may make, and reads until the broker closes the connection. No credential among
the frames is valid, except the one that begins an attempt of the third kind, so the last request
must stay unanswered in the first two.
"""

from __future__ import annotations

import random
import socket
import struct
from collections import Counter
from enum import Enum

from barnabas.api.broker_apis import BROKER_HANDLERS
from barnabas.security.sasl.oauthbearer import ACKNOWLEDGEMENT, OAuthBearerClient
from barnabas.security.sasl.plain import PlainClient
from barnabas.security.sasl.scram import ScramClient
from barnabas.security.sasl.scram_credentials import ScramMechanism
from barnabas.security.sasl.unsecured_tokens import make_unsecured_token
from barnabas.wire.apis import ApiKey
from tests.hostile.fuzzer import DAMAGES, Vocabulary, make_frame, too_dear
from tests.unit.security.sasl.frames import handshake, token, versions
from tests.unit.security.sasl.tokens import claims, rsa_key, signed
from tests.waiting import PATIENCE_SECONDS

USER, PASSWORD = "alice", "wonder"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_PROBE_ID = 0x5AFE_0001
# Metadata of version 1, for all topics.
PROBE = struct.pack(">hhihi", ApiKey.METADATA, 1, _PROBE_ID, -1, -1)
_FIRST_APIS = (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)


class Phase(Enum):
    BEFORE = "before"
    DURING = "during"
    AFTER = "after"


def attempt(seed: int, index: int) -> tuple[Phase, list[bytes]]:
    """The frames of one connection, without their lengths and without the probe."""
    chance = random.Random(f"sasl/{seed}/{index}")
    phase = chance.choice(list(Phase))
    frames = [_mutated(chance, seed, f"{index}/{each}") for each in range(chance.choice((1, 1, 2, 4)))]
    if phase is Phase.BEFORE:
        return phase, frames
    start = [bytes(versions())] if chance.random() < 0.5 else []
    if phase is Phase.AFTER:
        return phase, [*start, bytes(handshake("PLAIN")), bytes(token(PlainClient(USER, PASSWORD).first())), *frames]
    mechanism, version = chance.choice(MECHANISMS), chance.choice((0, 1, 1))
    credentials = [_credential(chance) for _ in range(chance.choice((1, 2, 3)))]
    if version == 1:
        credentials = [bytes(token(each, chance.choice((0, 1, 2)))) for each in credentials]
    return phase, [*start, bytes(handshake(mechanism, version)), *(_maybe_damaged(chance, each) for each in credentials), *frames[:1]]


def _credential(chance: random.Random) -> bytes:
    """A token of some mechanism that no password, key or user fits."""
    made = chance.choice(
        (
            PlainClient(USER, "wrong").first(),
            PlainClient("nobody", PASSWORD).first(),
            ScramClient(ScramMechanism.SHA_256, USER, PASSWORD, "nonce").first(),
            b"c=biws,r=nonce,p=" + b"A" * 44,
            OAuthBearerClient(make_unsecured_token(claims())).first(),
            OAuthBearerClient(signed(rsa_key("stranger"), claims())).first(),
            ACKNOWLEDGEMENT,
            b"",
            chance.randbytes(chance.choice((1, 30, 500, 100_000))),
            b"n,a=" + b"=2C" * 5000 + b",n=" + b"a" * 5000 + b",r=x",
        )
    )
    return _maybe_damaged(chance, made)


def _maybe_damaged(chance: random.Random, data: bytes) -> bytes:
    if not data or chance.random() < 0.5:
        return data
    return bytes(chance.choice(DAMAGES[:8])(chance, bytearray(data), data))


def _mutated(chance: random.Random, seed: int, index: str) -> bytes:
    keys = _FIRST_APIS if chance.random() < 0.7 else tuple(BROKER_HANDLERS)
    if chance.random() < 0.1:
        return chance.randbytes(chance.choice((1, 9, 64)))
    body = make_frame(seed, hash_of(index), Vocabulary(), keys).body
    return b"\x00" if too_dear(body) else body


def hash_of(text: str) -> int:
    return random.Random(text).getrandbits(31)


def attack(bootstrap: str, frames: list[bytes]) -> str:
    """Sends the frames and the probe; returns what became of the probe."""
    host, _, port = bootstrap.partition(":")
    received = bytearray()
    with socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS) as raw:
        try:
            raw.sendall(b"".join(struct.pack(">i", len(each)) + each for each in (*frames, PROBE)))
            raw.shutdown(socket.SHUT_WR)
            while piece := raw.recv(65_536):
                received += piece
        except OSError as error:
            # The broker closed the connection with frames unread.
            if isinstance(error, TimeoutError):
                raise
    return "answered" if _PROBE_ID in _correlation_ids(received) else "not answered"


def _correlation_ids(received: bytearray) -> set[int]:
    found, position = set(), 0
    while position + 8 <= len(received):
        size, correlation_id = struct.unpack_from(">ii", received, position)
        found.add(correlation_id)
        position += 4 + size
    return found


def run(bootstrap: str, seed: int, count: int) -> Counter[tuple[Phase, str]]:
    outcomes: Counter[tuple[Phase, str]] = Counter()
    for index in range(count):
        phase, frames = attempt(seed, index)
        outcome = attack(bootstrap, frames)
        outcomes[phase, outcome] += 1
        if phase is not Phase.AFTER and outcome == "answered":
            raise AssertionError(f"attempt {index} of seed {seed} was let in: {[each.hex() for each in frames]}")
    return outcomes
