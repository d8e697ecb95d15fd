"""AlterReplicaLogDirs."""

from __future__ import annotations

from barnabas.wire.messages.alter_replica_log_dirs import AlterReplicaLogDir, AlterReplicaLogDirsRequest, AlterReplicaLogDirTopic
from tests.conformance.differential.pair import Pair, Peer, Question


def moving(directory: str, *topics: tuple[str, list[int]]) -> Question:
    """To ``directory``; the one that each of the two has where it is "own"."""

    def made(peer: Peer, version: int) -> AlterReplicaLogDirsRequest:
        moved = [AlterReplicaLogDirTopic(name=name, partitions=partitions) for name, partitions in topics]
        return AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=str(peer.data) if directory == "own" else directory, topics=moved)])

    return made


def test_alter_replica_log_dirs_refuses_unknown_directories_and_partitions(pair: Pair) -> None:
    """Both have one directory, so nothing moves; topics and partitions are returned in no
    meaningful order."""
    name = pair.create("settled", 2)
    for directory in ("own", "/nowhere", ""):
        for partition in (0, 1, 7, -1):
            pair.same(moving(directory, (name, [partition])))
        pair.same(moving(directory, ("never-was", [0])))
        pair.same(moving(directory, ("", [0])))
        pair.same(moving(directory, ("x" * 249, [0])))
        pair.same(moving(directory))
    pair.same(AlterReplicaLogDirsRequest(dirs=[]))
