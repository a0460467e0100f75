"""Campaigns: many runs, in parallel, on disk. Every searcher on every problem from every seed.

config      what a campaign is, and its cells        reading     the same from a TOML file
runner      cells go to workers and come back        executors   where the workers are
worker      a cell, from where its journal ends      progress    how a campaign is getting on
remote      a cell where no folder is seen           remote_run  a campaign of such cells
cluster     a Dask cluster's workers                 merging     folders of a campaign's shards
store       a campaign's folder, and in it           ledger      the states of its cells
extension   a campaign's file that has changed
summary     what a finished cell comes to            curves      the summaries of all of them
reference   optima and templates to compare with     showing     what the file hands to reports
network     a search for every layer of a network

Imports `optimum` and what stands below it; nothing that analyses or reports.
"""
