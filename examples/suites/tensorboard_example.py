"""A search that TensorBoard follows."""

from torch.utils.tensorboard import SummaryWriter

import dse
from dse.search.callbacks import Callback


class Logged(Callback):
    def progress(self, progress):
        writer.add_scalar("loss", progress.best_loss, progress.samples)


with SummaryWriter("runs") as writer:
    dse.search(dse.suite("short")[7].problem, "random", budget=100, callbacks=[Logged()])
