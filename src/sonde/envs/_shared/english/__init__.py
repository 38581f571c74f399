"""Reading plain English: what a message asks, claims or proposes, without a model."""
