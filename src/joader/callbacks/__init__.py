"""A loader's figures beside a training's losses: one small file per tool that draws them.

    from joader.callbacks.lightning import LoaderStatistics
    from joader.callbacks.tensorboard import TensorBoard
    from joader.callbacks.wandb import Wandb

Nothing is imported here: each file needs the tool that it is for.
"""
