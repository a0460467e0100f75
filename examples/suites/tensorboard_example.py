"""A search that TensorBoard follows."""

from torch.utils.tensorboard import SummaryWriter

import dse
from dse.search.callbacks import Callback


class Logged(Callback):
    def begin(self, cell):
        self.writer = SummaryWriter(f"runs/{cell.name}-{cell.seed}")

    def progress(self, progress):
        self.writer.add_scalar("loss", progress.best_loss, progress.samples)

    def end(self, result):
        self.writer.close()


dse.search(dse.suite("short")[7].problem, "random", budget=100, callbacks=[Logged()])
