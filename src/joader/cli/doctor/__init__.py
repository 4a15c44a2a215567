"""`joader doctor`: is this machine ready for a daemon, and if not, what to do.

Reading order: `doctor` (runs all checks), `finding` (what a check found); the checks: `machine`,
`folder` (of the daemon's socket).
"""
