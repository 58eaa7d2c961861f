"""What is known of one run: windows, metrics, configuration, model, physics, money."""
