"""``barnabas certs``: a private certificate authority, and the certificates that it signs.

:mod:`~.command` has the commands, :mod:`~.issuing` writes keys and certificates, and
:mod:`~.reading` reads a file for ``certs show``. The authority itself is in
``devcluster.certificates``. For development and tests: a key lies beside its certificate without a
password, and there is no list of revoked certificates.
"""
