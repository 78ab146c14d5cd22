"""A real server: started, fed with sessions, read out, stopped."""
