"""Commands about machines: their hardware, hosts for servers, other Pitwalls, agents."""
