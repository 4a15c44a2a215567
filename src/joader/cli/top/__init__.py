"""`joader top`: what runs, live, in a terminal.

Reading order: `top` (asks, shows, listens), `view` (what is shown; keys change it), `screen`
(figures as lines), with `job_table`, `node_table`, `details` (one job) and `bars`; `keyboard`.
"""
