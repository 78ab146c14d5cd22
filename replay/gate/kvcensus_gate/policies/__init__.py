"""One file a policy."""
