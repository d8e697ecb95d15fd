"""Bytes of records as people read them. Pure.

:mod:`~.detection` tries the formats in turn and never fails: bytes that fit no format are shown as
hex. :mod:`~.decoder_choice` says which decoder a person chose. :mod:`~.avro_container`,
:mod:`~.json_format`, :mod:`~.message_pack`, :mod:`~.protobuf_wire`, :mod:`~.plain_text` and
:mod:`~.hex_dump` are the formats; values with a schema come decoded from
:mod:`barnabas.console.access.schema_decoding`. :mod:`~.safe_text` makes every text safe to look at.

Invariants: no bytes raise an error; a text is cut at a limit with a name, and says so.
"""
