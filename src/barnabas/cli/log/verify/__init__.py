"""Scrubbing the files of a node, running or not: is what lies there what was written, and do the files agree with each other?

Nothing here writes, makes, locks or repairs anything. A node may be writing meanwhile, so what looks wrong in a directory that changed is
looked at again; and what a crash leaves behind, and the next start puts in order, is noted but not called wrong.
"""
