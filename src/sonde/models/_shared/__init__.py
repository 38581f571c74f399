"""What scripted models and evaluation share."""
