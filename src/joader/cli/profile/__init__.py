"""`joader profile`: measure this machine in short runs, fit the models of schedule/models to them.

Reading order: `architectures` (what is trained), `training_runs`, `loading_runs` (what is
measured), `samples` (the file between measuring and fitting), `report` (what comes out), `profile`.
"""
