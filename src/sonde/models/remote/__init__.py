"""Clients of inference servers: the OpenAI chat protocol, and servers that take token ids."""
