"""The delta between two images without the records in between, for a node that fell behind and gets
a snapshot instead of the log.
"""

from __future__ import annotations

from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.wire.metadata_records import ConfigRecord, RemoveTopicRecord, UnregisterBrokerRecord


def delta_between(old: MetadataImage, new: MetadataImage) -> MetadataDelta:
    """The delta from ``old`` to ``new``. It may repeat things that did not change, because
    publishers act on the new state.
    """
    delta = MetadataDelta(old)
    for topic_id in old.topics.by_id.keys() - new.topics.by_id.keys():
        delta.replay(RemoveTopicRecord(topic_id=topic_id))
    for broker_id in old.cluster.brokers.keys() - new.cluster.brokers.keys():
        delta.replay(UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=old.cluster.brokers[broker_id].epoch))
    for resource, values in old.configs.by_resource.items():
        for name in values.keys() - new.configs.by_resource.get(resource, {}).keys():
            delta.replay(ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=None))
    for record in new.records():
        delta.replay(record)
    delta.finish(new.provenance)
    return delta
