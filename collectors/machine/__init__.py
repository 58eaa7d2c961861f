"""This machine while runs work on it: its GPUs, its CPUs, and the process trees of the runs."""
