"""What is known of the arms of a comparison: facts of their runs, answers, viewpoints, claims."""
