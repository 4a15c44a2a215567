"""Models of how fast jobs train and how fast workers prepare, fitted to what was measured.

Values in, values out; numpy, and scikit-learn in one file. Reading order: `runs` (what is
measured), `training_rate` and `step_time` (how long a step takes), `loading_rate` (what so many
workers prepare), `piecewise` and `portfolio` (Lobster's threads), `accuracy` (what a model is
worth), `regressors` (A-Dloader's Table I).
"""
