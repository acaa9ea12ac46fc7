"""Files between this machine and pods: copied, synced, and never trusted on the way back."""
