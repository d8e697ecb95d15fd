"""``barnabas quotas``: limits of users, client ids and addresses.

:mod:`~.command` has the options and prints, :mod:`~.entities` says which clients a limit is for,
:mod:`~.values` converts values with units, and :mod:`~.requests` asks the cluster.
"""
