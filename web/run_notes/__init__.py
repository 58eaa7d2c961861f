"""People's notes on runs: ratings, comments, and known failures with workarounds."""
