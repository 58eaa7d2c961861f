"""Collectors for this machine: its GPUs, its CPUs, and the process trees of the runs."""
