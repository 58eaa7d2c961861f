"""Notifications to people: what is recorded becomes a message that waits on disk until each channel has it."""
