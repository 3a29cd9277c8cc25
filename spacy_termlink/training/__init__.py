"""Training of encoders: losses, batches, hard-negative refresh, the trainer."""
