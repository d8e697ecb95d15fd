"""The topology of a streams group."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field, struct
from barnabas.wire.types import Int16, Int32, String


@coordinator_key(key=23, versions="0", flexible="none")
class StreamsGroupTopologyKey:
    group_id: String = field("0")


@struct
class TopicConfig:
    key: String = field()
    value: String = field()


@struct
class TopicInfo:
    name: String = field()
    partitions: Int32 = field()
    replication_factor: Int16 = field()
    topic_configs: list[TopicConfig] = field()


@struct
class CopartitionGroup:
    source_topics: list[Int16] = field()
    source_topic_regex: list[Int16] = field()
    repartition_source_topics: list[Int16] = field()


@struct
class Subtopology:
    subtopology_id: String = field()
    source_topics: list[String] = field()
    source_topic_regex: list[String] = field()
    state_changelog_topics: list[TopicInfo] = field()
    repartition_sink_topics: list[String] = field()
    repartition_source_topics: list[TopicInfo] = field()
    copartition_groups: list[CopartitionGroup] = field()


@coordinator_value(key=23, versions="0", flexible="0+")
class StreamsGroupTopologyValue:
    epoch: Int32 = field()
    subtopologies: list[Subtopology] = field()
