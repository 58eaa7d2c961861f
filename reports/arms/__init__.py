"""Reports on the arms of a comparison: facts of their runs, answers, viewpoints, claims."""
