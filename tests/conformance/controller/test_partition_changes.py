"""Thousands of random histories of a partition: our function decides every step, and Kafka's own
PartitionChangeBuilder decides it again.

A step is a change that our controller can make: brokers that are fenced, return or restart
uncleanly, leaders that report their ISR, manual elections, reassignments, and reassignments that
are cancelled.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from barnabas.controller.core.partition_change import Circumstances, Election, Wanted, partition_change
from barnabas.controller.core.reassignments import planned
from barnabas.metadata.topics import PartitionImage
from barnabas.model.ids import NO_NODE, Uuid
from barnabas.wire.metadata_records import PartitionChangeRecord
from peers.apache_kafka import java_program, why_missing
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

LIVES, STEPS = 400, 25
BROKERS = (1, 2, 3, 4, 5)
TOPIC = Uuid(bytes(15) + b"\x09")


def directory(number: int) -> Uuid:
    return Uuid((1).to_bytes(8, "big") + number.to_bytes(8, "big"))


def number(value: Uuid) -> int:
    return int.from_bytes(value[8:], "big")


def want(chance: Random, partition: PartitionImage, alive: set[int]) -> tuple[Wanted, Election]:
    """A possible next change of a partition; ``alive`` changes with it."""
    broker = chance.choice(BROKERS)
    usual = chance.choice([Election.ONLINE, Election.ONLINE, Election.UNCLEAN])
    without = tuple(each for each in partition.isr if each != broker)
    match chance.choice(["goes", "comes", "comes", "restarts", "reports", "reports", "elects", "moves", "cancels", "found"]):
        case "goes":
            alive.discard(broker)
            return Wanted(isr=without), usual
        case "comes":
            alive.add(broker)
            return Wanted(), usual
        case "restarts":
            alive.discard(broker)
            return Wanted(isr=without, lost_their_tail=frozenset({broker})), usual
        case "reports" if partition.leader != NO_NODE:
            candidates = [each for each in partition.replicas if each in alive and each != partition.leader]
            in_sync = [partition.leader, *chance.sample(candidates, chance.randint(0, len(candidates)))]
            chance.shuffle(in_sync)
            return Wanted(isr=tuple(in_sync), recovery_state=0), usual
        case "elects":
            return Wanted(), chance.choice([Election.PREFERRED, Election.UNCLEAN])
        case "moves" if not partition.reassigning and partition.leader != NO_NODE:
            target = tuple(chance.sample(BROKERS, chance.randint(1, 4)))
            move = planned(partition, target)
            return Wanted(replicas=move.replicas, removing=move.removing, adding=move.adding), Election.ONLINE
        case "cancels" if partition.reassigning:
            isr = tuple(each for each in partition.isr if each not in partition.adding_replicas)
            replicas = tuple(each for each in partition.replicas if each not in partition.adding_replicas)
            if isr:
                return Wanted(isr=isr, replicas=replicas, removing=(), adding=()), usual
        case "found":
            return Wanted(directories={chance.choice(partition.replicas): directory(chance.randint(200, 203))}), usual
    return Wanted(), usual


def shown(record: PartitionChangeRecord | None) -> dict[str, Any] | None:
    if record is None:
        return None
    return {
        "isr": record.isr,
        "leader": record.leader,
        "replicas": record.replicas,
        "removing": record.removing_replicas,
        "adding": record.adding_replicas,
        "recovery_state": record.leader_recovery_state,
        "eligible": record.eligible_leader_replicas,
        "last_known": record.last_known_elr,
        "directories": None if record.directories is None else [number(each) for each in record.directories],
    }


def asked(partition: PartitionImage, wanted: Wanted, circumstances: Circumstances, alive: set[int]) -> dict[str, Any]:
    return {
        "partition": {
            "replicas": partition.replicas,
            "directories": [number(each) for each in partition.directories],
            "isr": partition.isr,
            "removing": partition.removing_replicas,
            "adding": partition.adding_replicas,
            "eligible": partition.eligible_leader_replicas,
            "last_known": partition.last_known_elr,
            "leader": partition.leader,
            "recovery_state": partition.leader_recovery_state,
        },
        "wanted": {
            "isr": wanted.isr,
            "replicas": wanted.replicas,
            "removing": wanted.removing,
            "adding": wanted.adding,
            "recovery_state": wanted.recovery_state,
            "lost": sorted(wanted.lost_their_tail),
            "directories": {str(broker): number(each) for broker, each in wanted.directories.items()},
        },
        "alive": sorted(alive),
        "election": circumstances.election.name,
        "min_isr": circumstances.min_isr,
        "eligible_enabled": circumstances.eligible_enabled,
    }


def life(chance: Random) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """The questions of one random history for Kafka, each with our own answer."""
    replicas = tuple(chance.sample(BROKERS, chance.randint(1, 4)))
    directories = tuple(directory(100 + each) for each in replicas)
    partition = PartitionImage(replicas, replicas, replicas[0], leader_epoch=0, partition_epoch=0, directories=directories)
    min_isr, eligible = chance.randint(1, 3), chance.random() < 0.8
    alive = set(BROKERS)
    steps = []
    for _ in range(STEPS):
        wanted, election = want(chance, partition, alive)
        circumstances = Circumstances(
            can_lead=frozenset(alive).__contains__,
            default_directory=lambda broker: directory(10 * broker),
            election=election,
            min_isr=min(min_isr, len(replicas)),
            eligible_enabled=eligible,
        )
        record = partition_change(TOPIC, 0, partition, wanted, circumstances)
        steps.append((asked(partition, wanted, circumstances, alive), shown(record)))
        if record is not None:
            partition = partition.changed_by(record)
    return steps


def test_every_change_equals_kafkas() -> None:
    steps = [step for seed in range(LIVES) for step in life(Random(seed))]
    program = Path(__file__).with_name("PartitionOracle.java")
    questions = json.dumps([question for question, _ in steps])
    answered = subprocess.run(java_program(program), input=questions, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    assert answered.returncode == 0, answered.stderr
    answers = json.loads(answered.stdout)
    assert len(answers) == len(steps)
    different = [
        f"{question}\n  we:    {ours}\n  Kafka: {theirs}"
        for (question, ours), theirs in zip(steps, answers, strict=True)
        if ours != without_strangers(question, theirs)
    ]
    assert not different, f"{len(different)} of {len(steps)}, for example:\n" + "\n".join(different[:3])


def without_strangers(question: dict[str, Any], theirs: dict[str, Any] | None) -> dict[str, Any] | None:
    """The one difference: Kafka keeps a removed replica in its eligible replicas. It never elects
    it, because it is not a replica."""
    before = question["partition"]
    if theirs is None:
        return None
    replicas = theirs["replicas"] or before["replicas"]
    eligible = [each for each in (before["eligible"] if theirs["eligible"] is None else theirs["eligible"]) if each in replicas]
    return {**theirs, "eligible": None if eligible == list(before["eligible"]) else eligible}
