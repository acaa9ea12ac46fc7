"""What runs cost, from when the cluster saw them start and end."""
