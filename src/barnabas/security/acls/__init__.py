"""Authorization by ACLs, with the semantics of Kafka's StandardAuthorizer.

Read :mod:`~.acl` first: the vocabulary and one rule. :mod:`~.acl_index` finds the rules that
concern a resource, :mod:`~.authorizer` decides, :mod:`~.acl_filter` selects rules for DescribeAcls
and DeleteAcls, and :mod:`~.operations` says which operations a resource has. :mod:`~.explanation`
names the rule that decides, for people.

A decision depends on the rules, the principal, the host, the operation and the resource, and on
nothing else: there is no clock, no cache and no order of rules.
"""
