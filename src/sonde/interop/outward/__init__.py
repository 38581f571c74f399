"""sonde's environments in other libraries' trainers and harnesses."""
