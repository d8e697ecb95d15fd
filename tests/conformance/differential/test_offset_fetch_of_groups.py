"""OffsetFetch of members and of strangers."""

from __future__ import annotations

import pytest

from barnabas.wire.messages.offset_fetch import OffsetFetchRequest
from tests.conformance.differential.group_offsets import ALL, COMMITS, OTHER, TOPIC, committed, member_of
from tests.conformance.differential.group_requests import fetch, fetch_group
from tests.conformance.differential.scene import Known, Scene

pytestmark = pytest.mark.usefixtures("offset_topics")


FETCHES = range(1, 11)


@pytest.mark.parametrize("version", COMMITS)
def test_offset_fetch_finds_commits_of_every_version(scene: Scene, version: int) -> None:
    group = f"commits-{version}"
    for reading in FETCHES:
        scene.same(lambda the, reading=reading: fetch(the, reading, group, [ALL]), reading)
    committed(scene, version, group, TOPIC, (0, 5), (2, 7))
    committed(scene, version, group, TOPIC, (0, 6), (0, 8), metadata="with words", leader_epoch=3)
    committed(scene, version, group, OTHER, (0, 1), metadata=None)
    for reading in FETCHES:
        for asked in ([ALL], [(TOPIC, (0, 0, 7, -1)), (OTHER, (0,))], [(TOPIC, ())], []):
            scene.same(lambda the, reading=reading, asked=asked: fetch(the, reading, group, asked), reading)
            if reading >= 7:
                scene.same(lambda the, reading=reading, asked=asked: fetch(the, reading, group, asked, stable=True), reading)
        if reading >= 2:
            scene.same(lambda the, reading=reading: fetch(the, reading, group, None), reading)


@pytest.mark.parametrize("version", FETCHES)
def test_offset_fetch_of_a_stranger_is_refused(scene: Scene, version: int) -> None:
    group = f"who-fetches-{version}"
    scene.same(lambda the: fetch(the, version, "", [ALL]), version)
    scene.same(lambda the: fetch(the, version, group, [("no-such-topic", (0, 1)), ALL]), version)
    member_of(scene, group)
    committed(scene, 9, group, TOPIC, (0, 3), epoch=1, member="a")
    scene.same(lambda the: fetch(the, version, group, [ALL]), version)
    if version >= 9:
        for member in (None, "", "stranger"):
            for epoch in (-2, -1, 0, 1, 2):
                scene.same(lambda the, member=member, epoch=epoch: fetch(the, version, group, [ALL], member=member, epoch=epoch), version)
                scene.same(lambda the, member=member, epoch=epoch: fetch(the, version, group, None, member=member, epoch=epoch), version)


@pytest.mark.parametrize("version", [8, 9, 10])
def test_offset_fetch_takes_several_groups_and_repeated_ones(scene: Scene, version: int) -> None:
    for name in ("x", "y"):
        committed(scene, version, f"several-{version}-{name}", TOPIC, (1, 4))

    def several(the: Known) -> OffsetFetchRequest:
        groups = [
            fetch_group(the, version, f"several-{version}-{name}", asked)
            for name, asked in (("x", [ALL]), ("y", None), ("none", [ALL]), ("none", None), ("x", [(TOPIC, (1,))]))
        ]
        return OffsetFetchRequest(groups=groups)

    scene.same(several, version)
    scene.same(OffsetFetchRequest(groups=[]), version)
    scene.same(lambda the: OffsetFetchRequest(groups=[fetch_group(the, version, "", [ALL])]), version)
