"""What nodes decide together: where a row lives, where it is trained on, where its bytes come from.

Reading order: `placement` (the home of a row), `trust` (which nodes prepare the same), `worth`
(whether to fetch a row, by what was measured), `step_parts` (which rank reads which rows of a step)
with `balance` (evening a step out in few transfers), `drawing` (which node draws for jobs that draw
jointly); these decide in the daemon. `assignment` (which node trains on which rows of a global
batch) serves `step_parts` and figures. `replicas` (which ranks load at all) is not used yet.

All of it is a pure function of what every node knows, so nodes agree without talking. Nothing is
sent from here.
"""
