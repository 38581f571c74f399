"""Twenty questions on the language room: what is known of the topics, what is asked of them, and the true reply."""
