"""TLS for listeners and for connections to other nodes.

:mod:`~.stores` reads private keys and certificates from PEM and PKCS12 files, :mod:`~.contexts`
makes the contexts that the loop uses, and :mod:`~.subjects` writes the subject of a certificate as
Java does, because ACLs name it. :mod:`~.server_tls` and :mod:`~.client_tls` hold what a listener
and the connections to other nodes use at present; :mod:`~.compatibility` says whether a renewed
certificate may replace it.

Private keys are never written to a disk: a context reads them from memory that has no name.
"""
