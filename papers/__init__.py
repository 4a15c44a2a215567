"""Figures of the four papers, rerun with joader's own code: for who has the repository.

Nothing in `src` imports it but the door, `joader.cli.papers`. Reading order: `figure` (how one is
computed), `runs` (many simulations, one per core), `figures/` (one file per figure),
`every_figure` (which there are), `simulators/` (small ones, for figures alone); `reproduce`, `run`
and `plot` (the command); `live/` (figures that are measured with real jobs). `joader profile`:
`profile/`, which fits `models/`.
"""
