"""TLS for listeners and for connections to other nodes.

:mod:`~.stores` reads private keys and certificates from PEM and PKCS12 files, :mod:`~.contexts`
makes the contexts that the loop uses, :mod:`~.cipher_suites` translates Java's names of cipher
suites, and :mod:`~.subjects` writes the subject of a certificate as Java does, because ACLs name
it.

Private keys are never written to a disk: a context reads them from memory that has no name.
"""
