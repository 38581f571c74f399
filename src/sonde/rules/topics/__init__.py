"""Twenty questions: knowledge of the topics, the reader of questions, and the true reply."""
