"""``barnabas acls``: list, add, remove and explain the rules of who may do what.

:mod:`~.command` has the options and prints, :mod:`~.rule_names` converts the names of operations
and resources, :mod:`~.rules` makes rules and filters of options, :mod:`~.requests` asks the
cluster, and :mod:`~.check` explains a decision.

Decisions are those of :mod:`barnabas.security.acls`, which has the semantics of Kafka's
StandardAuthorizer. The commands work with every Kafka cluster that has it.
"""
