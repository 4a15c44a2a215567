"""`joader doctor`: is this machine ready for a daemon, and if not, what to do."""
