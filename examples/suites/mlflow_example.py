"""A search that MLflow follows."""

import mlflow

import dse
from dse.search.callbacks import Callback


class Logged(Callback):
    def begin(self, cell):
        mlflow.start_run(run_name=f"{cell.name}-{cell.seed}")
        mlflow.log_params(cell.settings)

    def progress(self, progress):
        mlflow.log_metric("loss", progress.best_loss, step=progress.samples)

    def end(self, result):
        mlflow.end_run()


dse.search(dse.suite("short")[7].problem, "random", budget=100, callbacks=[Logged()])
