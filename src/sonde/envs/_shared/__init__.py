"""Code shared by environments: reading answers, dialogues, finite decision problems, word games, English."""
