"""Writes bounds.json: bounds (tau) of small calls per error model, evaluated with torch in fp64 from
the formulas of docs/oracle.md, section 3. Run with torch >= 2.11:

    python bounds.py > bounds.json
"""
import json
import math

import torch
import torch.nn.functional as F

f64 = torch.float64
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": f64}
generator = torch.Generator().manual_seed(20240607)
cases = []


def data(*sizes, dtype="f32", scale=1.0, shift=0.0):
    x = torch.randn(sizes, generator=generator, dtype=f64) * scale + shift
    return x.to(DTYPES[dtype]).to(f64)


def u_of(dtype):
    return 2.0**-53 if dtype == "f64" else 2.0**-24


def tiny_of(dtype):
    return 2.0**-1022 if dtype == "f64" else 2.0**-126


def L(r):
    return math.sqrt(2 * math.log(2 * max(r.numel(), 1) / 1e-9))


def R(K, r):
    return L(r) * math.sqrt(max(K, 3) / 3)


def ulp64(r):
    return torch.nextafter(r.abs(), torch.full_like(r, math.inf)) - r.abs()


def final(tau, r, dtype):
    """fp64 is no better than an fp64 target; what has no value bounds nothing."""
    tau = torch.where(torch.isfinite(r) & ~torch.isnan(tau), tau, torch.zeros_like(tau))
    return torch.where(tau > 0, 2 * tau + ulp64(r), tau) if dtype == "f64" else tau


def flat(x):
    return [repr(v) for v in x.detach().reshape(-1).tolist()]


def case(name, model, dtype, r, tau, inputs=(), attributes=(), scalars=(), masks=(), **more):
    out = {"name": name, "model": model, "dtype": dtype, "attributes": dict(attributes)}
    out["scalars"] = {k: v if isinstance(v, list) else [v] for k, v in dict(scalars).items()}
    out["inputs"] = {
        k: {"sizes": list(v.shape), "data": flat(v), "dtype": "bool" if k in masks else dtype}
        for k, v in dict(inputs).items()
    }
    out["sizes"], out["reference"] = list(r.shape), flat(r)
    out["tau"] = flat(final(tau, r, dtype))
    for k, v in more.items():
        if isinstance(v, list):
            out[k] = [[name, flat(final(t, r, dtype))] for name, t in v]
        elif torch.is_tensor(v):
            out[k] = flat(v)
        else:
            out[k] = v
    cases.append(out)


def condition(f, *xs):
    xs = [x.clone().requires_grad_(True) for x in xs]
    r = f(*xs)
    grads = torch.autograd.grad(r.sum(), xs)
    return r.detach(), r.detach().abs() + sum((x.detach() * g).abs() for x, g in zip(xs, grads))


# Element-wise functions.
for dtype in ("f32", "f16", "f64"):
    x = data(12, dtype=dtype, scale=3)
    w, tiny = 2 * u_of(dtype), tiny_of(dtype)
    r, c = condition(torch.lgamma, x)
    case("lgamma " + dtype, "elementwise", dtype, r, w * 4 * c + tiny * (1 + x.abs()),
         condition=c, magnitude=x.abs())
    r, c = condition(lambda x: torch.exp(x), x)
    case("exp " + dtype, "elementwise", dtype, r, w * 3 * c + tiny * (1 + x.abs()),
         attributes={"ulp": "3"}, condition=c, magnitude=x.abs())
    r, c = condition(torch.sin, x * 100)
    wide = final(w * 4 * c + tiny * (1 + (x * 100).abs()), r, dtype)
    case("sin " + dtype, "sin_cos", dtype, r, w * 4 * r.abs() + tiny * (1 + (x * 100).abs()),
         condition=c, magnitude=(x * 100).abs(), tau_wider=wide)
    r, c = condition(F.silu, x)
    case("silu " + dtype, "silu", dtype, r, w * 4 * c + tiny * (1 + x.abs()),
         condition=c, magnitude=x.abs())
    r, c = condition(F.gelu, x)
    case("gelu " + dtype, "gelu", dtype, r, w * 2 * (c + x.abs()), condition=c, magnitude=x.abs())
    r, c = condition(F.tanhshrink, x)
    case("tanhshrink " + dtype, "gelu", dtype, r, w * 4 * (c + x.abs()),
         attributes={"ulp": "4"}, condition=c, magnitude=x.abs())
    r, c = condition(torch.sinc, x)
    case("sinc " + dtype, "gelu", dtype, r, w * 4 * (c + 1),
         attributes={"ulp": "4", "offset": "one"}, condition=c, magnitude=x.abs())
x = data(6)
case("add", "elementwise", "f64", x + 1, torch.zeros(6, dtype=f64), attributes={"kind": "exact"})


# Accumulation.
def accumulation(r, S, q, K, u, std, total, few=False, denorm=2.0**-149, terms=None, u_bias=None):
    random = R(K, r) * u * (r.abs() + q)
    tau = torch.minimum(random, (K + 2) * u * S)
    biased = (std < 4 * (u_bias or u) * total) | torch.tensor(few)
    tau = torch.where(biased, torch.maximum(tau, (K / 2 + 2) * u * S), tau)
    return tau + (K if terms is None else terms) * denorm, biased


def mm_case(name, dtype, a, b, few=0):
    K = a.shape[1]
    r, S, Q = a @ b, a.abs() @ b.abs(), (a * a) @ (b * b)
    q, std, u = Q.sqrt(), (Q / K - (r / K) ** 2).clamp(min=0).sqrt(), u_of(dtype)
    denorm = 2.0**-1074 if dtype == "f64" else 2.0**-149
    tau, biased = accumulation(r, S, q, K, u, std, S, bool(few), denorm)
    inputs = lambda ui: 4 * ui * r.abs() + L(r) * (2 * ui / math.sqrt(3)) * q
    down = []
    for label, condition_, value in (
        ("f32 arithmetic", dtype == "f64",
         accumulation(r, S, q, K, 2.0**-24, std, S, bool(few), denorm, u_bias=u)[0]
         + inputs(2.0**-24)),
        ("accumulation in " + dtype, dtype in ("f16", "bf16"),
         accumulation(r, S, q, K, 2.0**-11 if dtype == "f16" else 2.0**-8, std, S, bool(few),
                      u_bias=u)[0]),
        ("10-bit mantissa inputs", dtype in ("f32", "f64"), tau + inputs(2.0**-11)),
        ("bf16 inputs", dtype in ("f32", "f64", "f16"), tau + inputs(2.0**-8)),
    ):
        if condition_:
            down.append((label, value))
    rms = u * math.sqrt(max(K, 3) / 3) * (r.abs() + q)
    has_rms = r.numel() >= 64 and not bool(biased.any()) and dtype != "f64"
    case(name, "accumulate", dtype, r, tau, sum_abs=S, sum_squares=Q,
         count=torch.full_like(r, K), distinct=few, downgrades=down,
         rms_scale=rms if has_rms else torch.zeros(0))


for dtype in ("f32", "f16", "bf16", "f64"):
    mm_case("mm normal " + dtype, dtype, data(8, 20, dtype=dtype), data(20, 8, dtype=dtype))
mm_case("mm few outputs", "f32", data(3, 20), data(20, 4))
mm_case("mm constant", "f32", torch.full((8, 20), 0.1).to(f64), torch.full((20, 8), 0.7).to(f64), 1)
mm_case("mm narrow terms", "f32", data(8, 64, scale=1e-6, shift=1), torch.ones(64, 8, dtype=f64))
mm_case("mm two terms", "f32", data(3, 2), data(2, 4))

x = data(5, 30)
r, S, Q = x.mean(1), x.abs().mean(1), x.pow(2).mean(1)
std = (x.pow(2).mean(1) - r * r).clamp(min=0).sqrt()
tau, _ = accumulation(r, S, x.pow(2).sum(1).sqrt() / 30, 32, u_of("f32"), std, x.abs().sum(1), terms=30)
case("mean", "accumulate", "f32", r, tau, inputs={"self": x}, attributes={"mean": "true"},
     sum_abs=S, sum_squares=Q, count=torch.ones(5), distinct=64)


# Softmax and its logarithm.
def softmax_parts(x, dim):
    xmax = x.amax(dim, keepdim=True)
    d, p = xmax - x, torch.softmax(x, dim)
    pd = torch.where(p > 0, p * d, torch.zeros_like(p)).sum(dim, keepdim=True)
    return xmax, d, p, pd


for dtype in ("f32", "f64"):
    u = u_of(dtype)
    x = data(2, 5, 3, dtype=dtype, scale=4)
    x[0, 1, 2] = -math.inf
    x[1, :, 0] = -math.inf
    for dim, reduce in ((1, {"reduce": "dim"}), (-1, {})):
        r, (xmax, d, p, pd) = torch.softmax(x, dim), softmax_parts(x, dim)
        K = x.shape[dim]
        relative = torch.where(r > 0, u * r * (d + pd + R(K, r) + 9), torch.zeros_like(r))
        case(f"softmax {dtype} {dim}", "softmax", dtype, r, relative + tiny_of(dtype),
             inputs={"self": x}, attributes=reduce, scalars={"dim": dim})
        r = torch.log_softmax(x, dim)
        lse = (torch.logsumexp(x, dim, keepdim=True) - xmax).abs()
        tau = u * (2 * x.abs() + 2 * xmax.abs() + r.abs() + 7 * lse + pd + R(K, r) + 9)
        case(f"log_softmax {dtype} {dim}", "log_softmax", dtype, r, tau, inputs={"self": x},
             attributes=reduce, scalars={"dim": dim})


# Normalisation.
def norm_parts(x, dims, K, N, u):
    mu = x.mean(dims, keepdim=True)
    v = x.var(dims, unbiased=False, keepdim=True)
    rms = x.pow(2).mean(dims, keepdim=True).sqrt()
    l = math.sqrt(2 * math.log(2 * N / 1e-9))
    rk = l * math.sqrt(max(K, 3) / 3)
    dmu = u * rk * (mu.abs() + rms / math.sqrt(K))
    dv = u * (rk + 4) * v + dmu**2 + 2 * l * u * mu.abs() * v.sqrt()
    return mu, v, dmu, dv


def norm_tau(x, dims, K, N, u, eps):
    mu, v, dmu, dv = norm_parts(x, dims, K, N, u)
    rs = (v + eps).rsqrt()
    g = dv / (v + eps)
    return rs * (dmu + 2 * u * (x.abs() + mu.abs())) + ((x - mu) * rs).abs() * (g / 2 + g * g + 4 * u)


u = u_of("f32")
x, w, b = data(4, 10, shift=2), data(10), data(10)
r = F.layer_norm(x, (10,), w, b, 1e-5)
core = norm_tau(x, (1,), 10, 40, u, 1e-5)
case("layer_norm", "normalize", "f32", r, w.abs() * core + u * (r.abs() + b.abs()),
     inputs={"input": x, "weight": w, "bias": b}, attributes={"kind": "layer"},
     scalars={"normalized_shape": [10], "eps": 1e-5})
r = F.layer_norm(x, (10,), None, None, 1e-3)
case("layer_norm plain", "normalize", "f32", r, norm_tau(x, (1,), 10, 40, u, 1e-3) + u * r.abs(),
     inputs={"input": x}, attributes={"kind": "layer"}, scalars={"normalized_shape": [10], "eps": 1e-3})
mu, v, dmu, dv = norm_parts(x, (1,), 10, 4, u)
case("layer_norm mean", "normalize", "f32", mu, dmu + u * mu.abs(), inputs={"input": x},
     attributes={"kind": "layer"}, scalars={"normalized_shape": [10], "eps": 1e-5})
g = dv / (v + 1e-5)
r = (v + 1e-5).rsqrt()
case("layer_norm rstd", "normalize", "f32", r, r * (g / 2 + g * g + 4 * u), inputs={"input": x},
     attributes={"kind": "layer"}, scalars={"normalized_shape": [10], "eps": 1e-5})

x, w, b = data(3, 6, 5), data(6), data(6)
r = F.group_norm(x, 2, w, b)
core = norm_tau(x.reshape(3, 2, 15), (2,), 15, 90, u, 1e-5).reshape(3, 6, 5)
one = lambda t: t.reshape(1, -1, 1)
affine = lambda core: one(w.abs()) * core + u * (r.abs() + one(b.abs()))
case("group_norm", "normalize", "f32", r, affine(core), inputs={"input": x, "weight": w, "bias": b},
     attributes={"kind": "group"}, scalars={"num_groups": 2, "eps": 1e-5})
r = F.instance_norm(x, None, None, w, b)
case("instance_norm", "normalize", "f32", r, affine(norm_tau(x, (2,), 5, 90, u, 1e-5)),
     inputs={"input": x, "weight": w, "bias": b}, attributes={"kind": "instance"},
     scalars={"use_input_stats": 1, "eps": 1e-5})
r = F.batch_norm(x, None, None, w, b, True)
batch = {"kind": "batch_train"}
case("batch_norm train", "normalize", "f32", r, affine(norm_tau(x, (0, 2), 15, 90, u, 1e-5)),
     inputs={"input": x, "weight": w, "bias": b}, attributes=batch,
     scalars={"training": 1, "eps": 1e-5, "momentum": 0.1})
mean, var = data(6), data(6).abs() + 0.1
old_mean, old_var = mean.clone(), var.clone()
F.batch_norm(x, mean, var, w, b, True, 0.1)
mu, v, dmu, dv = (t.reshape(-1) for t in norm_parts(x, (0, 2), 15, 6, u))
tau = 0.1 * dv * 15 / 14 + 3 * u * ((0.9 * old_var).abs() + (0.1 * v * 15 / 14).abs())
case("running_var", "normalize", "f32", var, tau,
     inputs={"input": x, "weight": w, "bias": b, "running_mean": old_mean, "running_var": old_var},
     attributes=batch, scalars={"training": 1, "eps": 1e-5, "momentum": 0.1})
r = F.batch_norm(x, old_mean, old_var, w, b, False)
a = one(w).abs() * (one(old_var) + 1e-5).rsqrt()
tau = u * (4 * a * (x.abs() + one(old_mean).abs()) + 2 * one(b).abs() + r.abs())
for name, model, attributes in (("batch_eval", "batch_eval", {}), ("batch_norm eval", "normalize", batch)):
    case(name, model, "f32", r, tau,
         inputs={"input": x, "weight": w, "bias": b, "running_mean": old_mean, "running_var": old_var},
         attributes=attributes, scalars={"training": 0, "eps": 1e-5})
x, w = data(4, 12), data(12)
r = F.rms_norm(x, (12,), w, 1e-6)
case("rms_norm", "rms_norm", "f32", r, u * r.abs() * (R(12, r) / 2 + 6),
     scalars={"normalized_shape": [12]})


# Attention.
def attention(name, dtype, q, k, v, mask=None, causal=False, scale=None, gqa=False):
    r = F.scaled_dot_product_attention(q, k, v, mask, 0.0, causal, scale=scale, enable_gqa=gqa)
    if gqa:
        kk, vv = (t.repeat_interleave(q.shape[-3] // t.shape[-3], -3) for t in (k, v))
    else:
        kk, vv = k, v
    u, factor = u_of(dtype), scale or 1 / math.sqrt(q.shape[-1])
    s = q @ kk.transpose(-1, -2) * factor
    qs = ((q * q) @ (kk * kk).transpose(-1, -2)).sqrt() * factor
    added = torch.zeros_like(s)
    if causal:
        added = torch.full_like(s, -math.inf).triu(1)
    elif mask is not None and mask.dtype == torch.bool:
        added = torch.zeros_like(s).masked_fill(~mask, -math.inf)
    elif mask is not None:
        added = mask + added
    full = s + added
    top = full.amax(-1, keepdim=True)
    p = torch.softmax(full, -1)
    ds = u * R(q.shape[-1], r) * (s.abs() + qs) + 2 * u * torch.maximum(s.abs(), full.abs())
    de = torch.where(p > 0, ds + u * (top - full + 9), torch.zeros_like(p))
    pv = ((p * p) @ (vv * vv)).sqrt()
    linear = (p * de) @ vv.abs()
    random = L(r) * ((p * de) ** 2 @ (vv * vv)).sqrt() + r.abs() * (p * de).sum(-1, keepdim=True)
    tau = u * R(k.shape[-2], r) * (r.abs() + pv) + torch.minimum(linear, random)
    if dtype in ("f16", "bf16"):
        ut = 2.0**-11 if dtype == "f16" else 2.0**-8
        tau = tau + ut * (r.abs() + L(r) / math.sqrt(3) * pv)
    inputs, scalars = {"query": q, "key": k, "value": v}, {"is_causal": int(causal)}
    if mask is not None:
        inputs["attn_mask"] = mask.to(f64)
    if scale is not None:
        scalars["scale"] = scale
    if gqa:
        scalars["enable_gqa"] = 1
    masks = ("attn_mask",) if mask is not None and mask.dtype == torch.bool else ()
    case(name, "attention", dtype, r, tau, inputs=inputs, scalars=scalars, masks=masks)


attention("attention", "f32", data(2, 4, 8), data(2, 6, 8), data(2, 6, 3))
attention("attention f64", "f64", data(2, 4, 8, dtype="f64"), data(2, 6, 8, dtype="f64"), data(2, 6, 3, dtype="f64"))
attention("attention causal", "f32", data(1, 2, 5, 4), data(1, 2, 5, 4), data(1, 2, 5, 4), causal=True)
attention("attention bool mask", "f32", data(2, 2, 3, 4), data(2, 2, 5, 4), data(2, 2, 5, 4),
          torch.rand(2, 1, 1, 5, generator=generator) < 0.7)
attention("attention added mask", "bf16", data(2, 2, 3, 4, dtype="bf16"), data(2, 2, 5, 4, dtype="bf16"),
          data(2, 2, 5, 4, dtype="bf16"), data(3, 5, dtype="bf16"), scale=0.3)
attention("attention grouped", "f16", data(1, 4, 3, 4, dtype="f16"), data(1, 2, 5, 4, dtype="f16"),
          data(1, 2, 5, 4, dtype="f16"), gqa=True)

print("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]")
