"""What came of loads: rates of requests, results, accuracy, how many users a server holds."""
