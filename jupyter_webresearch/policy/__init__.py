"""What may be reached: decided before and at the connection."""
