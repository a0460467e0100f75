"""A search that MLflow follows."""

import mlflow

import dse
from dse.search.callbacks import Callback


class Logged(Callback):
    def progress(self, progress):
        mlflow.log_metric("loss", progress.best_loss, step=progress.samples)


with mlflow.start_run(run_name="random"):
    dse.search(dse.suite("short")[7].problem, "random", budget=100, callbacks=[Logged()])
