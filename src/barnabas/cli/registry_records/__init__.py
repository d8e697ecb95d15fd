"""Records of ``consume`` and ``produce`` by the schemas of a registry.

Read :mod:`~.formats` first (how keys and values are written), then :mod:`~.registry_access` (which
registry), :mod:`~.decoded_output`, :mod:`~.decoding` and :mod:`~.decoded_message` for ``consume``,
:mod:`~.encoders`, :mod:`~.schema_choice`, :mod:`~.encoding` and its port :mod:`~.part_encoder` for
``produce``, and :mod:`~.options`.

Invariants: a record that does not decode is printed with the reason, and the next ones too; a
record that does not encode is not sent; a registry that does not answer ends the command.

Not here: the JSON of data (:mod:`barnabas.schemas.json_view`).
"""
