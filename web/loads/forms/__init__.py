"""Forms for choosing a load and its parameters."""
