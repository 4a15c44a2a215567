"""Figures that are measured on the machine at hand, not simulated: `joader reproduce`, live.

Reading order: `live_figures` (which there are). Accuracy: `small_pictures` (CIFAR-10, or made),
`network`, `locality_accuracy`, `joader_accuracy` with `accuracy_job`, the script of each job. Jobs
and their loaders: `group` runs jobs at once with a loader (`paced_job` is their script), `joader_*`
and `threads` say what is measured. Figures of one seed differ from run to run, by what else the
machine does. Not here: figures that follow from the seed alone (simulator).
"""
