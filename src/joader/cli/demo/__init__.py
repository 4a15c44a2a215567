"""`joader demo`: four trainings on the same pictures, with torch's loader and then with joader's.

Reading order: `demo` (both halves), `pictures` (the data), `train` (the script that every job
runs), `side` (runs four of them with one loader and measures), `processes` (how they start and
end), `screen` (while they run), `table` (the outcome).
"""
