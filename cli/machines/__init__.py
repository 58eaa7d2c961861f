"""Commands for machines: their hardware, hosts for servers, other Pitwalls, agents."""
