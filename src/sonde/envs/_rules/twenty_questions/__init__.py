"""What is known of the topics of twenty questions, and how a yes/no question about them is read.

`topics` holds the knowledge, `questions` reads a message, `answering` replies, `asking` lists questions to ask.
"""
