"""Collects what runs produce (endpoints, logs, requests, GPU and host readings) in one loop that schedules all of it."""
