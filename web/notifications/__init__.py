"""The section of the channels to which notifications go."""
