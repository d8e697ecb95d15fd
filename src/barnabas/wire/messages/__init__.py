"""Requests and responses, one module per API, named after Kafka's schema in snake case.

A module declares the structs inside a message, then ``XxxRequest`` and ``XxxResponse``, with the
fields in the order of Kafka's schema. Its docstring gives the purpose of the API in one line, and
*Version notes* where versions differ in more than added fields. ``wire.apis`` imports a module when
its API is first used, so nothing is imported here.

Not here: behaviour. The handlers are in ``api``.
"""
