"""What runs leave behind, taken in: endpoints, logs, requests, GPUs and hosts, by one loop that times them all."""
