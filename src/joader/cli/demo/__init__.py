"""`joader demo`: four trainings on the same pictures, with torch's loader and then with joader's.

pictures.py makes the data, train.py is the script that every job runs, side.py runs four of them
with one loader and measures, screen.py shows them while they run, table.py the outcome.
"""
