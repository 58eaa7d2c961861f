"""The runs of the Runs page as a table, as cards and in groups, and actions on the selected ones."""
