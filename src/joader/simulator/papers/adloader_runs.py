"""Runs that `joader profile --collect` measured, for the figures of A-Dloader's models.

Written by benchmarks/profile_runs.py. Trained on: processor Intel(R) Xeon(R) Processor,
processors 2,
memory 24 GiB,
gpus none,
trained on one processor,
torch 2.13.0+cpu.
Rows: pictures of 640 × 480, decoded and resized, on: processor Intel(R) Xeon(R) Processor,
processors 2,
memory 24 GiB,
gpus none.
"""

from joader.schedule.models.runs import Architecture, LoadingRun, Operation, TrainingRun

TRAINED_ON = "one processor"
PROCESSORS = 2

# Parameters, and flops per sample, forward and backward.
_SIZES = {
    "resnet18": (183_100, 1.783e07),
    "mdvgg11": (39_752, 1.594e07),
    "smresnet10": (6_922, 1.582e06),
    "vgg7": (77_420, 5.312e07),
    "mdresnet34": (87_936, 9.211e06),
    "resnet10": (84_700, 1.075e07),
    "resnet34": (341_852, 3.199e07),
    "vgg11": (151_404, 6.02e07),
    "vgg13": (154_332, 8.851e07),
    "mdresnet10": (23_296, 3.902e06),
    "mdresnet18": (48_016, 5.672e06),
    "mdvgg7": (21_192, 1.417e07),
    "mdvgg13": (40_496, 2.302e07),
    "smresnet18": (13_162, 2.025e06),
    "smresnet34": (23_258, 2.91e06),
    "smvgg7": (6_254, 3.991e06),
    "smvgg11": (10_926, 4.433e06),
    "smvgg13": (11_118, 6.203e06),
}
ARCHITECTURES = {
    name: Architecture(name, parameters, (Operation(1, flops, 0.0, 0.0),))
    for name, (parameters, flops) in _SIZES.items()
}

# Milliseconds per step, by batch.
_STEPS_MS = {
    "resnet18": {2: 11.86, 4: 17.54, 8: 13.91, 12: 17.63, 16: 20.04, 32: 30.47},
    "mdvgg11": {2: 8.534, 4: 7.156, 8: 9.782, 12: 12.62, 16: 15.99, 32: 29.26},
    "smresnet10": {2: 8.23, 4: 8.424, 8: 6.631, 12: 8.149, 16: 8.766, 32: 11.47},
    "vgg7": {2: 6.673, 4: 9.051, 8: 16.1, 12: 22.69, 16: 27.88, 32: 49.62},
    "mdresnet34": {2: 17.39, 4: 20.46, 8: 22.56, 12: 24.19, 16: 27.73, 32: 32.22},
    "resnet10": {2: 6.724, 4: 6.973, 8: 9.07, 12: 11.73, 16: 13.4, 32: 21.83},
    "resnet34": {2: 18.74, 4: 19.98, 8: 23.39, 12: 28.98, 16: 30.41, 32: 47.11},
    "vgg11": {2: 9.262, 4: 11.82, 8: 18.19, 12: 25.09, 16: 30.6, 32: 53.11},
    "vgg13": {2: 10.46, 4: 15.42, 8: 25.41, 12: 34.53, 16: 44.44, 32: 82.45},
    "mdresnet10": {2: 5.532, 4: 6.247, 8: 7.939, 12: 8.801, 16: 11.08, 32: 16.61},
    "mdresnet18": {2: 10.76, 4: 11.82, 8: 14.46, 12: 13.61, 16: 17.43, 32: 20.49},
    "mdvgg7": {2: 4.497, 4: 6.786, 8: 8.589, 12: 10.69, 16: 14.58, 32: 26.42},
    "mdvgg13": {2: 6.907, 4: 9.323, 8: 13.37, 12: 19.58, 16: 24.5, 32: 49.41},
    "smresnet18": {2: 7.991, 4: 8.528, 8: 9.06, 12: 10.04, 16: 11.33, 32: 16.57},
    "smresnet34": {2: 12.77, 4: 14.27, 8: 15.86, 12: 17.13, 16: 18.96, 32: 23.09},
    "smvgg7": {2: 3.558, 4: 4.884, 8: 6.671, 12: 7.52, 16: 9.446, 32: 16.36},
    "smvgg11": {2: 4.401, 4: 5.342, 8: 6.955, 12: 8.616, 16: 10.28, 32: 17.92},
    "smvgg13": {2: 5.873, 4: 7.578, 8: 10.75, 12: 14.26, 16: 18.29, 32: 32.25},
}
TRAINING = [
    TrainingRun(name, batch, step_ms / 1000)
    for name, steps in _STEPS_MS.items()
    for batch, step_ms in steps.items()
]

# Workers, rows per second, milliseconds per row: waiting, the rest, and processor time.
_ROWS = (
    (1, 61.8, 0.0000, 16.193, 6.436),
    (2, 72.7, 0.0000, 27.495, 6.372),
    (3, 76.8, 0.0000, 39.059, 6.188),
    (4, 73.0, 0.0000, 54.773, 6.189),
    (5, 75.5, 0.0000, 66.224, 6.387),
    (6, 77.3, 0.0000, 77.567, 6.344),
    (8, 76.4, 0.0036, 104.628, 6.343),
    (1, 70.0, 0.0169, 14.276, 6.316),
    (2, 75.8, 0.0000, 26.381, 6.412),
    (3, 74.3, 0.0009, 40.363, 6.286),
    (4, 78.5, 0.0131, 50.935, 6.391),
    (5, 83.3, 0.0000, 60.050, 6.210),
    (6, 71.8, 0.0097, 83.625, 6.670),
    (8, 77.6, 0.0011, 103.108, 6.683),
)
LOADING = [
    LoadingRun("pictures", 150_528, workers, rate, read / 1000, rest / 1000, computed / 1000)
    for workers, rate, read, rest, computed in _ROWS
]
