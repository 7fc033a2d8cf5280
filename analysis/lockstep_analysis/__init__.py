"""Reads, verifies, compares, plots and plays what a Lockstep run leaves behind.

A checkpoint is an HDF5 file behind a 512-byte user block; docs/checkpoint.md gives the format.
Nothing here needs the trainer or PyTorch.
"""

from lockstep_analysis.checkpoint import Checkpoint
from lockstep_analysis.errors import AnalysisError, DamagedError

__all__ = ["AnalysisError", "Checkpoint", "DamagedError"]
