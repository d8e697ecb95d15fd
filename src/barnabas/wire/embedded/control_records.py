"""Keys and values of the records in control batches."""

from barnabas.model.ids import ZERO_UUID
from barnabas.wire.declare import data, field, struct
from barnabas.wire.types import Int16, Int32, Int64, String, Uint16, Uuid


@data(versions="0", flexible="none")
class ControlRecordTypeSchema:
    type: Int16 = field()


@data(versions="0", flexible="none")
class EndTxnMarker:
    coordinator_epoch: Int32 = field()


@struct
class Voter:
    voter_id: Int32 = field()
    voter_directory_id: Uuid = field("1+", default=ZERO_UUID)


@data(versions="0-1", flexible="0+")
class LeaderChangeMessage:
    version: Int16 = field()
    leader_id: Int32 = field()
    voters: list[Voter] = field()
    granting_voters: list[Voter] = field()


@data(versions="0", flexible="0+")
class SnapshotHeaderRecord:
    version: Int16 = field()
    last_contained_log_timestamp: Int64 = field()


@data(versions="0", flexible="0+")
class SnapshotFooterRecord:
    version: Int16 = field()


@data(versions="0", flexible="0+")
class KRaftVersionRecord:
    version: Int16 = field()
    kraft_version: Int16 = field()


@struct
class Endpoint:
    name: String = field()
    host: String = field()
    port: Uint16 = field()


@struct
class KRaftVersionFeature:
    min_supported_version: Int16 = field()
    max_supported_version: Int16 = field()


@struct
class VotersVoter:
    voter_id: Int32 = field()
    voter_directory_id: Uuid = field()
    endpoints: list[Endpoint] = field()
    kraft_version_feature: KRaftVersionFeature = field()


@data(versions="0", flexible="0+")
class VotersRecord:
    version: Int16 = field()
    voters: list[VotersVoter] = field()
