"""``barnabas doctor``: checks of the machine, the configuration and the cluster.

Nouns: a *check* is a function that looks at one thing and returns findings; a *finding* is one line
with a state, the fact, and a sentence how to fix it.

Read in this order:

    command      the command: which checks run, how they are printed, and the exit code
    finding      Finding, and the limit on the time of a check
    installed    versions of Barnabas and its libraries, compiled code, Java, Spark
    machine      descriptors, clock, swapping
    directories  the directories of a node: writable, with room, on a disk that keeps its data
    ports        ports that are free, or the process that listens
    environment  variables that change what commands and nodes do
    cluster      a running cluster: its clock, and its brokers at the addresses that they advertise

Invariants: no check changes anything that lasts; no check can hang the command, because each has a
time limit; a check that fails itself is a finding, and the others go on.
"""
