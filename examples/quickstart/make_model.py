#!/usr/bin/env python3
"""Writes tiny_llama.pt2: a decoder of the LLaMA type, small, with random weights.

    python make_model.py [tiny_llama.pt2]

Needs torch alone. Architecture: Touvron et al., "LLaMA: open and efficient foundation language
models", 2023 (RMSNorm, rotary embedding, SwiGLU); grouped key/value heads as in its successors.
"""

import math
import sys

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


class RotaryEmbedding(nn.Module):
    def __init__(self, head_width, base=10000.0):
        super().__init__()
        exponent = torch.arange(0, head_width, 2).float() / head_width
        self.register_buffer("inverse_frequency", base**-exponent, persistent=False)

    def forward(self, length):
        position = torch.arange(length, device=self.inverse_frequency.device).float()
        angle = torch.outer(position, self.inverse_frequency)
        angle = torch.cat((angle, angle), dim=-1)
        return angle.cos(), angle.sin()


class Attention(nn.Module):
    """Causal attention, written out (softmax of scaled scores)."""

    def __init__(self, width, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads, self.head_width = heads, kv_heads, width // heads
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, kv_heads * self.head_width, bias=False)
        self.v_proj = nn.Linear(width, kv_heads * self.head_width, bias=False)
        self.o_proj = nn.Linear(width, width, bias=False)

    def forward(self, x, cos, sin, mask):
        batch, length, _ = x.shape

        def split(y, heads):
            return y.view(batch, length, heads, self.head_width).transpose(1, 2)

        q = split(self.q_proj(x), self.heads)
        k = split(self.k_proj(x), self.kv_heads)
        v = split(self.v_proj(x), self.kv_heads)
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        group = self.heads // self.kv_heads
        k = k.repeat_interleave(group, dim=1)
        v = v.repeat_interleave(group, dim=1)
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.head_width)
        weights = torch.softmax(scores.masked_fill(mask, -math.inf), dim=-1)
        y = torch.matmul(weights, v).transpose(1, 2).reshape(batch, length, -1)
        return self.o_proj(y)


class FeedForward(nn.Module):
    """SwiGLU."""

    def __init__(self, width, inner):
        super().__init__()
        self.gate_proj = nn.Linear(width, inner, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, width, heads, kv_heads, inner):
        super().__init__()
        self.input_norm = RMSNorm(width)
        self.self_attn = Attention(width, heads, kv_heads)
        self.post_norm = RMSNorm(width)
        self.mlp = FeedForward(width, inner)

    def forward(self, x, cos, sin, mask):
        x = x + self.self_attn(self.input_norm(x), cos, sin, mask)
        return x + self.mlp(self.post_norm(x))


class TinyLlama(nn.Module):
    """Token ids [batch, length] to logits [batch, length, vocabulary]; head tied to the embedding."""

    def __init__(self, vocabulary=96, width=32, layers=2, heads=4, kv_heads=2, inner=64):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.rotary = RotaryEmbedding(width // heads)
        self.layers = nn.ModuleList(Layer(width, heads, kv_heads, inner) for _ in range(layers))
        self.norm = RMSNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.embed(tokens)
        cos, sin = self.rotary(length)
        mask = torch.ones(length, length, dtype=torch.bool, device=tokens.device).triu(1)
        for layer in self.layers:
            x = layer(x, cos, sin, mask)
        return self.head(self.norm(x))


def tiny_llama():
    """The model and its sample arguments, the same at every call."""
    torch.manual_seed(0)
    model = TinyLlama().eval()
    tokens = torch.randint(0, 96, (2, 12), generator=torch.Generator().manual_seed(1))
    return model, (tokens,)


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "tiny_llama.pt2"
    model, arguments = tiny_llama()
    torch.export.save(torch.export.export(model, arguments), path)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
