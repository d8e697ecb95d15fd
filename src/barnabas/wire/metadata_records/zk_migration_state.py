"""The progress of a migration from ZooKeeper; read, never written."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import Int8


@metadata_record(key=21, versions="0", flexible="0+")
class ZkMigrationStateRecord:
    zk_migration_state: Int8 = field()
