"""How many at once, from how fast things were: rows in flight, rows computing.

Reading order: `rate`, `pace` (jobs and rows), `crowd` (others on the processors), `climb` (found by
trying), `knee` and `storage_knee` (where more gives no more).
"""
