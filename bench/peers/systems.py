"""The peers as systems: one server each, in memory or on disk, with the defaults of its authors."""

from __future__ import annotations

import shutil
import tempfile
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path

from bench.peers import builds
from bench.peers.drivers import Driver, KafkaDriver, NatsDriver
from bench.systems import Server, System
from peers.apache_kafka import free_port


class Work(Enum):
    """What a row asks of a server."""

    KAFKA_REQUESTS = "requests of Kafka's protocol"
    STREAM = "a log of records, with any client"


class Peer(System):
    """``builds`` are the programs it needs. The peers have no settings of Kafka."""

    builds: Sequence[builds.Build]
    works: frozenset[Work] = frozenset(Work)

    @property
    @abstractmethod
    def driver(self) -> Driver: ...

    @abstractmethod
    def command(self, port: int, data: Path) -> list[str]: ...

    def why_missing(self) -> str | None:
        return builds.why_missing(*self.builds)

    def launch(self, settings: Mapping[str, str]) -> Server:
        assert not settings, "a peer has no settings of Kafka"
        directory = Path(tempfile.mkdtemp(prefix=f"bench-{self.key}-"))
        try:
            data, port = directory / "data", free_port()
            data.mkdir()
            return Server(self.name, self.command(port, data), port, directory)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise


class Kfake(Peer):
    builds = (builds.KFAKE,)

    def __init__(self, *, on_disk: bool) -> None:
        super().__init__()
        self._on_disk = on_disk
        self.key, self.name = ("kfake-files", "kfake, files") if on_disk else ("kfake-memory", "kfake, memory")

    @property
    def driver(self) -> Driver:
        return KafkaDriver()

    def version(self) -> str:
        return builds.go_version("github.com/twmb/franz-go/pkg/kfake")

    def command(self, port: int, data: Path) -> list[str]:
        where = [f"-data={data}"] if self._on_disk else []
        return [str(builds.KFAKE.program), f"-port={port}", *where]


class Tansu(Peer):
    builds = (builds.TANSU,)

    def __init__(self, *, on_disk: bool) -> None:
        super().__init__()
        self._on_disk = on_disk
        self.key, self.name = ("tansu-sqlite", "Tansu, SQLite") if on_disk else ("tansu-memory", "Tansu, memory")

    @property
    def driver(self) -> Driver:
        return KafkaDriver()

    def version(self) -> str:
        return builds.TANSU_VERSION

    def command(self, port: int, data: Path) -> list[str]:
        engine = f"sqlite://{data}/tansu.db" if self._on_disk else "memory://tansu/"
        address = f"tcp://127.0.0.1:{port}"
        listening = ["--kafka-listener-url", address, "--kafka-advertised-listener-url", address]
        # Tansu takes the path in the address from its working directory.
        return ["env", "--chdir=/", str(builds.TANSU.program), "broker", *listening, "--storage-engine", engine]


class NatsJetStream(Peer):
    builds = (builds.NATS_SERVER, builds.NATS_LOAD)
    works = frozenset({Work.STREAM})

    def __init__(self, *, on_disk: bool) -> None:
        super().__init__()
        self._on_disk = on_disk
        self.key, self.name = ("nats-files", "NATS JetStream, files") if on_disk else ("nats-memory", "NATS JetStream, memory")

    @property
    def driver(self) -> Driver:
        return NatsDriver("file" if self._on_disk else "memory")

    def version(self) -> str:
        server, client = (builds.go_version(f"github.com/nats-io/{module}") for module in ("nats-server/v2", "nats.go"))
        return f"{server}, client nats.go {client}"

    def command(self, port: int, data: Path) -> list[str]:
        return [str(builds.NATS_SERVER.program), "--addr", "127.0.0.1", "--port", str(port), "--jetstream", "--store_dir", str(data)]


def all_peers() -> list[Peer]:
    return [kind(on_disk=on_disk) for kind in (Kfake, Tansu, NatsJetStream) for on_disk in (False, True)]


def driver_of(system: System) -> Driver:
    return system.driver if isinstance(system, Peer) else KafkaDriver()


def can_do(system: System, work: Work) -> bool:
    return work in system.works if isinstance(system, Peer) else True
