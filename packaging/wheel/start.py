#!python
"""Starts the tool, which lies in the package; neither that nor numpy is imported."""
import importlib.util
import os
import sys

folder = importlib.util.find_spec("bload").submodule_search_locations[0]
os.execv(os.path.join(folder, "bin", "bload"), ["bload", *sys.argv[1:]])
