"""What misses cost and what a target takes, in GPU-seconds, bytes, GPUs and money: arithmetic on what was replayed."""
