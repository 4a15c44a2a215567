"""A loader's figures beside a training's losses: one small file per tool that draws them.

    from joader.callbacks.lightning import LoaderStatistics
    from joader.callbacks.tensorboard import TensorBoard
    from joader.callbacks.wandb import Wandb

Reading order: `scalars` (what is logged), then `lightning`, `tensorboard`, `wandb`. Nothing is
imported here: each file needs the tool that it is for.
"""
