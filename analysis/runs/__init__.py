"""What one run says of itself: its windows, its conditions, settings in effect, text that loops."""
