"""Faults of products: what a customer can tell, and what a support agent's message asks for.

`products` holds the faults, `reading` reads a message, `service` plays.
"""
