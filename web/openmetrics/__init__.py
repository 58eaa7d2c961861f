"""The current numbers of Pitwall in the OpenMetrics format, for Prometheus and what reads the same format."""
