"""Serializers and deserializers of records, for programs that produce and consume.

They are called like those of confluent-kafka, ``serializer(obj, ctx)``, so they work in its
``SerializingProducer`` and ``DeserializingConsumer``; ``for_kafka_python`` makes an object of
kafka-python's classes, and ``for_topic`` a function of the object alone, for aiokafka. The bytes
are Confluent's, in both directions.

Read in this order: :mod:`.serializer` and :mod:`.deserializer` (what all formats share),
:mod:`.subject_names`, :mod:`.avro`, :mod:`.json_schema`, :mod:`.protobuf` with
:mod:`.generated_messages`, :mod:`.python_types` (schemas of Python's types), and
:mod:`.kafka_python`.

Invariants: bytes and objects are checked before they leave; a value that does not fit is an error
with the path and the reason. The registry is a port (:mod:`.registry_port`), so this package opens
no socket, reads no clock, and keeps only answers of the registry.

Not here: requests to a registry, which :class:`barnabas.registry_client.RegistryClient` makes.
"""
