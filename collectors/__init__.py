"""Collects what runs produce (endpoints, logs, requests, GPU and host readings) in one scheduling loop."""
