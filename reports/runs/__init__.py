"""Reports on one run: windows, metrics, configuration, model, physics, cost."""
