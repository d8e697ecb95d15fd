"""Decoding the files that a node leaves on its disk. Nothing here writes, makes or locks anything."""
