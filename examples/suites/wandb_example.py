"""A search that Weights & Biases follows."""

import wandb

import dse
from dse.search.callbacks import Callback


class Logged(Callback):
    def progress(self, progress):
        wandb.log({"loss": progress.best_loss}, step=progress.samples)


with wandb.init(project="mappings", mode="offline"):
    dse.search(dse.suite("short")[7].problem, "random", budget=100, callbacks=[Logged()])
