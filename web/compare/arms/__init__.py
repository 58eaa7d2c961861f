"""The arms of a comparison: which runs make them, how they differ, more repeats of them, adopting one."""
