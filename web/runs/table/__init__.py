"""The runs of the Runs page, as a table, as cards and in groups, and what is done with those that are chosen."""
