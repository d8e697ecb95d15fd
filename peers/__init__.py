"""The systems we are compared with, for tests and benchmarks only: nothing here is shipped."""
