"""`joader profile`: measure this machine in short runs, fit the models of papers/models to them.

Reading order: `profile` (all of it), `architectures` (what is trained) and `rows` (what is read),
`training_runs` and `loading_runs` (what is measured; `collecting` runs both), `samples` (the file
between measuring and fitting), `fitting`, `report` (what comes out), `figure`. A training script
instead: `scripts`, with `probe`.
"""
