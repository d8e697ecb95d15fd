"""Random histories of clients with quotas: Kafka's own quota manager makes them wait exactly as
long as ours does.

All quotas of a history are set before the first use, and later only change their values. A client
that has no quota is not measured here and may be in Kafka, which would show when it gets one.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from barnabas.model.errors import KafkaError
from barnabas.security.quotas.client_quotas import MUTATIONS, PRODUCED, ClientQuotas
from barnabas.security.quotas.quota_table import Entity
from barnabas.security.quotas.windowed_rate import Windows
from peers.apache_kafka import java_program, why_missing
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

HISTORIES, STEPS = 300, 60
USERS, CLIENTS = ("alice", "bob"), ("shop", "bank")
BEGIN_MS = 1_700_000_000_000
ENTITIES: list[dict[str, str | None]] = [
    {"user": "alice", "client": "shop"},
    {"user": "alice", "client": None},
    {"user": "alice"},
    {"user": None, "client": "shop"},
    {"user": None, "client": None},
    {"user": None},
    {"client": "shop"},
    {"client": None},
]


def history(chance: Random, *, tokens: bool) -> dict[str, Any]:
    steps: list[dict[str, Any]] = []
    entities = chance.sample(ENTITIES, chance.randint(1, 4))
    rate = chance.choice([1, 10, 1000])

    def quota(entity: dict[str, str | None]) -> dict[str, Any]:
        return {**entity, "quota": float(chance.randint(1, 5) * rate)}

    steps += [quota(entity) for entity in entities]
    now_ms = BEGIN_MS
    for _ in range(STEPS):
        if chance.random() < 0.05:
            steps.append(quota(chance.choice(entities)))
            continue
        now_ms += chance.choice([0, 1, 37, 400, 999, 1000, 1001, 2500, 9000, 11_000, 30_000]) if chance.random() < 0.7 else 0
        value = chance.choice([0, 1, 3, 10, 25]) * rate
        steps.append({"user": chance.choice(USERS), "client": chance.choice(CLIENTS), "value": value, "at": now_ms})
    return {"samples": chance.choice([11, 11, 2, 5]), "seconds": chance.choice([1, 1, 2]), "tokens": tokens, "steps": steps}


def our_waits(asked: dict[str, Any]) -> list[int]:
    windows = Windows(asked["samples"], asked["seconds"] * 1000)
    quotas = ClientQuotas(windows, windows)
    by_entity: dict[Entity, dict[str, float]] = {}
    waits = []
    for step in asked["steps"]:
        if "quota" in step:
            names = {"user": "user", "client": "client-id"}
            entity = frozenset((names[kind], step[kind]) for kind in names if kind in step)
            by_entity[entity] = {MUTATIONS if asked["tokens"] else PRODUCED: step["quota"]}
            quotas.replace(by_entity)
        elif asked["tokens"]:
            waits.append(_tokens(quotas, step))
        else:
            limits = quotas.limits(step["user"], step["client"])
            waits.append(0 if limits is None else quotas.produced(limits, step["value"], step["at"]))
    return waits


def _tokens(quotas: ClientQuotas, step: dict[str, Any]) -> int:
    quota = quotas.mutation_quota(step["user"], step["client"], strict=True, now_ms=step["at"])
    if quota is None:
        return 0
    try:
        quota.take(step["value"])
    except KafkaError:
        return quota.throttle_ms
    return 0


def test_every_client_waits_as_long_as_with_kafka() -> None:
    histories = [history(Random(seed), tokens=seed % 3 == 0) for seed in range(HISTORIES)]
    program = Path(__file__).with_name("QuotaOracle.java")
    answered = subprocess.run(
        java_program(program), input=json.dumps(histories), capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS
    )
    assert answered.returncode == 0, answered.stderr
    theirs = json.loads(answered.stdout)
    ours = [our_waits(each) for each in histories]
    assert sum(wait > 0 for waits in ours for wait in waits) > HISTORIES, "hardly any client waits, so nothing is compared"
    different = [
        f"{asked}\n  we:    {mine}\n  Kafka: {kafkas}"
        for asked, mine, kafkas in zip(histories, ours, theirs, strict=True)
        if mine != kafkas
    ]
    assert not different, f"{len(different)} of {len(histories)}, for example:\n" + "\n".join(different[:2])
