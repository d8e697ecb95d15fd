"""Whole clusters with their clients under faults, and planted mistakes in replication, each of
which some seed must find.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from barnabas.metadata.applier import MetadataApplier
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.topics import PartitionImage
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.replication.partition import Partition
from barnabas.simulation.run import run
from barnabas.simulation.violations import Violation
from barnabas.simulation.world import Scenario
from tests.waiting import PATIENCE_SECONDS

CONTROLLER_SEEDS, CLUSTER_SEEDS = 10, 20
CONTROLLER_SOAK_SEEDS, CLUSTER_SOAK_SEEDS = 1000, 3000
SEEDS_AT_ONCE = 5
PLANTED_SEEDS_MAX = 60
# Seeds at which the search for planted mistakes begins, near the first ones that show the mistake:
# 6 and 9.
FIRST_SEEDS = {"_cuts_to_the_high_watermark": 5, "_leaders_act_on_the_image_before": 8}


@pytest.mark.parametrize("first", range(0, CONTROLLER_SEEDS, SEEDS_AT_ONCE))
def test_no_accepted_change_is_lost_when_controllers_fail(first: int) -> None:
    for seed in range(first, first + SEEDS_AT_ONCE):
        assert run(Scenario("controller", seed)).facts["committed"] > 0


@pytest.mark.parametrize("first", range(0, CLUSTER_SEEDS, SEEDS_AT_ONCE))
def test_no_acknowledged_record_is_lost(first: int) -> None:
    reports = [run(Scenario("cluster", seed)) for seed in range(first, first + SEEDS_AT_ONCE)]
    assert all(report.facts["acknowledged"] > 0 for report in reports)
    assert sum(report.facts["read"] for report in reports) > 0


def test_without_faults_everything_is_acknowledged_and_read_under_the_first_leaders() -> None:
    facts = run(Scenario("cluster", 1, faults=())).facts
    assert facts["leaders"] == 2
    assert facts["acknowledged"] == facts["read"] > 50


def test_replicas_on_corrupt_disks_are_fetched_again() -> None:
    for seed in (2, 4, 5):
        assert run(Scenario("cluster", seed, faults=("rot",))).facts["acknowledged"] > 0


def test_one_seed_gives_one_run_in_every_process() -> None:
    here = run(Scenario("cluster", 3)).digest
    assert run(Scenario("cluster", 3)).digest == here
    program = (
        "from barnabas.simulation.run import run\nfrom barnabas.simulation.world import Scenario\nprint(run(Scenario('cluster', 3)).digest)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS
    )
    assert int(ran.stdout) == here


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_no_accepted_change_is_lost_in_many_runs() -> None:
    for seed in range(1000, 1000 + CONTROLLER_SOAK_SEEDS):
        run(Scenario("controller", seed))


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_no_acknowledged_record_is_lost_in_many_runs() -> None:
    for seed in range(1000, 1000 + CLUSTER_SOAK_SEEDS):
        run(Scenario("cluster", seed))


# -- planted mistakes


def _cuts_to_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """As Kafka's followers did before KIP-101."""
    follow = Partition.follow_metadata

    def follow_and_cut(self: Partition, image: PartitionImage, now_ms: int = 0) -> None:
        epoch = self.leader_epoch
        follow(self, image, now_ms)
        if not self.leads and self.leader_epoch != epoch and self.high_watermark < self.log.log_end_offset:
            self.truncate_to(self.high_watermark)

    patch.setattr(Partition, "follow_metadata", follow_and_cut)


def _acknowledges_before_replication(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Partition, "replicated", lambda self, end_offset: Promise.kept(ErrorCode.NONE))


def _acknowledges_below_min_isr(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Partition, "under_min_isr", property(lambda self: False))
    patch.setattr(Partition, "_replicated_enough", lambda self: ErrorCode.NONE)


def _leaders_act_on_the_image_before(patch: pytest.MonkeyPatch) -> None:
    """As Barnabas once did: the image changed only after the leaders had been informed."""

    async def publish(self: MetadataApplier, delta: MetadataDelta, image: MetadataImage) -> None:
        effective = EffectiveConfigs(self._settings, image.configs, self._node_id) if delta.configs.changed else self.effective
        for publisher in self.publishers:
            await publisher.publish(delta, image, effective)
        self.image = self.newest.image = image
        self.effective = self.newest.effective = effective
        self._waiting.reached(image.provenance.offset)

    patch.setattr(MetadataApplier, "_publish", publish)


@pytest.mark.parametrize(
    ("plant", "sign"),
    [
        (_cuts_to_the_high_watermark, "orders"),
        (_acknowledges_before_replication, "for its batch, where"),
        (_acknowledges_below_min_isr, "orders"),
        (_leaders_act_on_the_image_before, "holds its high watermark"),
    ],
)
def test_a_planted_mistake_is_found(plant: Callable[[pytest.MonkeyPatch], None], sign: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    found = _first_violation(FIRST_SEEDS.get(plant.__name__, 0))
    assert sign in found.splitlines()[0]
    assert "replay: barnabas simulate cluster --seed" in found


def _first_violation(first_seed: int) -> str:
    for seed in range(first_seed, first_seed + PLANTED_SEEDS_MAX):
        try:
            run(Scenario("cluster", seed))
        except Violation as found:
            return str(found)
    pytest.fail(f"{PLANTED_SEEDS_MAX} seeds do not find it")
