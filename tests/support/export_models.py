#!/usr/bin/env python3
"""Exports the test models: NAME.pt2, NAME.json (what Python counts in the exported program) and
NAME.out (what Python computes on the sample inputs).

    export_models.py OUTPUT_DIR

NAME.json: {"nodes": N, "ops": {target: count}, "values": {name: "f32[2,3;3,1+0]"}}, counted from
the ExportedProgram's fx graph, not from the file.
NAME.out, little endian: u32 number of outputs, then for each u32 dtype (as in DTYPES), u32 rank,
i64 sizes, raw elements row-major.
"""

import collections
import ctypes
import json
import pathlib
import struct
import sys

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "quickstart"))
import make_model  # noqa: E402

DTYPES = {
    torch.float32: (0, "f32"),
    torch.int64: (1, "i64"),
    torch.bool: (2, "bool"),
    torch.float64: (3, "f64"),
    torch.complex64: (4, "c64"),
}


class TinyConvnet(nn.Module):
    """Convolutions, batch norm, pooling and an in-place residual addition."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(2)
        self.conv = nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.conv_norm = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.pool(self.relu(self.norm(self.stem(x))))
        y = self.conv_norm(self.conv(x))
        y += x
        return self.head(nn.functional.adaptive_avg_pool2d(self.relu(y), 1).flatten(1))


def tiny_convnet():
    torch.manual_seed(2)
    model = TinyConvnet()
    with torch.no_grad():  # statistics that are not 0 and 1
        for norm in (model.norm, model.conv_norm):
            norm.running_mean.uniform_(-0.5, 0.5)
            norm.running_var.uniform_(0.5, 2.0)
    return model.eval(), (torch.randn(2, 3, 16, 20),)


class TinyOdds(nn.Module):
    """What exporters and readers trip over: views, writes through views, lists, numbers where a
    tensor is expected, constants, several kinds of results, inputs in a dict."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(12.0).reshape(3, 4).t())
        self.register_buffer("step", torch.tensor(3), persistent=False)
        self.scale = nn.Parameter(torch.tensor(0.5))
        self.offsets = torch.tensor([1, -1, 2])

    def forward(self, inputs, flag, factor=2.0):
        x, index = inputs["x"], inputs["index"]
        y = x.clone()
        y[:, 1:3].mul_(self.scale)
        y[:, 0].copy_(y[:, 3])
        left, right = y.split([2, 2], dim=1)
        joined = torch.cat([right, left, self.table[:2, :2]], dim=0)
        picked = self.table[index + self.offsets.abs().max() * 0, :]
        gathered = self.table[:, index]
        total = torch.where(joined > 0, joined, -1.5).sum(dim=0, keepdim=True)
        top = joined.topk(2, dim=0)
        masked = x.masked_fill(x < 0, float("-inf")) * factor
        bits = torch.full((2, 3), 7, dtype=torch.int64).remainder(4) + self.step
        turned = torch.view_as_real(torch.complex(x, x + 1) * (1 + 2j))
        same = torch.outer(x[0], x[0]) if flag else x
        return {
            "picked": picked,
            "gathered": gathered,
            "total": total,
            "top": (top.values, top.indices),
            "masked": masked,
            "bits": bits,
            "turned": turned,
            "same": same,
            "empty": torch.empty(0, 3).sum(dim=0),
            "y": y,
            "positive": (y > 0).all(),
        }


def tiny_odds():
    torch.manual_seed(3)
    # Keys in another order than the alphabet's: leaves follow the dict.
    inputs = {"x": torch.randn(5, 4), "index": torch.tensor([0, 2, 1])}
    return TinyOdds().eval(), (inputs, True)


def counted(program):
    ops = collections.Counter()
    values = {}
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and value.dtype in DTYPES:
            sizes = ",".join(map(str, value.shape))
            strides = ",".join(map(str, value.stride()))
            name = DTYPES[value.dtype][1]
            values[node.name] = f"{name}[{sizes};{strides}+{value.storage_offset()}]"
        if node.op != "call_function" or node.target.__module__ == "_operator":
            continue  # getitem of several results: the file holds none
        ops[f"torch.ops.{node.target}"] += 1
    return {"nodes": sum(ops.values()), "ops": dict(sorted(ops.items())), "values": values}


def raw(tensor):
    tensor = tensor.detach().contiguous()
    size = tensor.numel() * tensor.element_size()
    return ctypes.string_at(tensor.data_ptr(), size) if size else b""


def written(outputs):
    leaves = torch.utils._pytree.tree_leaves(outputs)
    parts = [struct.pack("<I", len(leaves))]
    for leaf in leaves:
        parts.append(struct.pack(f"<II{leaf.dim()}q", DTYPES[leaf.dtype][0], leaf.dim(), *leaf.shape))
        parts.append(raw(leaf))
    return b"".join(parts)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    makers = {"tiny_llama": make_model.tiny_llama, "tiny_convnet": tiny_convnet, "tiny_odds": tiny_odds}
    for name, make in makers.items():
        model, arguments = make()
        program = torch.export.export(model, arguments)
        (folder / f"{name}.json").write_text(json.dumps(counted(program), indent=1))
        torch.export.save(program, folder / f"{name}.pt2")
        model, arguments = make()  # the export may have touched buffers
        with torch.no_grad():
            (folder / f"{name}.out").write_bytes(written(model(*arguments)))


if __name__ == "__main__":
    main()
