"""Python's types as schemas, and their objects as values.

Read in this order: :mod:`.shapes` (what a type is made of), :mod:`.reading_types` (from
annotations to shapes), :mod:`.avro_types` and :mod:`.json_types` (from shapes to schemas),
:mod:`.to_values` and :mod:`.from_values` (between objects and the values of codecs),
:mod:`.pydantic_models`.

Invariant: an object that is written by the schema of its type comes back equal.
"""
