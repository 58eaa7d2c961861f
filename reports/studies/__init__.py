"""Status of a study, and predictions for values that it has not run."""
