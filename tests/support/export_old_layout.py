#!/usr/bin/env python3
"""Writes tests/data/pt2/torch-X.Y.pt2: one small model in the file layout of the torch that runs this.

Run by hand with torch 2.8 (pickled weights) and 2.6 (files at the archive's root); the files are kept
in the repository, since the build has one torch only. Prints what Python sees of the graph.
"""
import collections
import sys

import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 4)
        self.register_buffer("shift", torch.arange(4.0))

    def forward(self, x):
        y = torch.relu(self.fc(x)) + self.shift
        return torch.softmax(y * 2.0, -1), y.sum(0)


torch.manual_seed(0)
program = torch.export.export(
    Block(), (torch.randn(5, 3),), dynamic_shapes={"x": {0: torch.export.Dim("n")}})
torch.export.save(program, sys.argv[1])
counts = collections.Counter(
    str(node.target) for node in program.graph.nodes if node.op == "call_function")
print(torch.__version__, dict(counts))
