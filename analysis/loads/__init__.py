"""Results of loads: request rates, result rows, accuracy, and the number of users a server sustains."""
