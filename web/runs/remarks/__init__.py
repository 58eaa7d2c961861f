"""What people say of runs: ratings, notes, and failures with what helped."""
