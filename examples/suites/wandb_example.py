"""A search that Weights & Biases follows."""

import wandb

import dse
from dse.search.callbacks import Callback


class Logged(Callback):
    def begin(self, cell):
        self.run = wandb.init(project="mappings", config=cell.settings, mode="offline")

    def progress(self, progress):
        self.run.log({"loss": progress.best_loss}, step=progress.samples)

    def end(self, result):
        self.run.finish()


dse.search(dse.suite("short")[7].problem, "random", budget=100, callbacks=[Logged()])
