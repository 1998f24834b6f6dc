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


def case(name, model, dtype, r, tau, inputs=(), attributes=(), scalars=(), masks=(), ints=(), **more):
    out = {"name": name, "model": model, "dtype": dtype, "attributes": dict(attributes)}
    out["scalars"] = {k: v if isinstance(v, list) else [v] for k, v in dict(scalars).items()}
    out["inputs"] = {
        k: {"sizes": list(v.shape), "data": flat(v), "dtype": "bool" if k in masks else "i64" if k in ints else dtype}
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


# Logarithms of sums, moments, norms, products.
def grouped(K, r):
    return L(r) * math.sqrt(max(K, 3) / 3)


for dtype in ("f32", "f64"):
    u, tiny = u_of(dtype), tiny_of(dtype)
    x = data(3, 4, 5, dtype=dtype, scale=3)
    for dims, keep in (((1,), False), ((0, 2), True)):
        r = torch.logsumexp(x, dims, keep)
        K = math.prod(x.shape[d] for d in dims)
        top = x.amax(dims, keep)
        full = x.amax(dims, keepdim=True)
        p, d = torch.exp(x - torch.logsumexp(x, dims, keepdim=True)), full - x
        tau = u * (r.abs() + top.abs() + 7 * (r - top) + (p * d).sum(dims, keep) + R(K, r) + 9)
        case(f"logsumexp {dtype} {dims}", "logsumexp", dtype, r, tau, inputs={"self": x},
             attributes={"reduce": "dim"}, scalars={"dim": list(dims)})
    x = data(4, 3, 6, dtype=dtype, shift=2)
    for dims in ((1,), (0, -1), ()):
        axes = tuple(dims) or (0, 1, 2)
        K = math.prod(x.shape[d] for d in axes)
        scalars = {"dim": list(dims), "correction": 1} if dims else {"unbiased": 1}
        r = x.var(axes)
        mu, v = x.mean(axes), x.var(axes, unbiased=False)
        rms, l = x.pow(2).mean(axes).sqrt(), L(r)
        dmu = u * R(K, r) * (mu.abs() + rms / math.sqrt(K))
        dv = u * (R(K, r) + 4) * v + dmu**2 + 2 * l * u * mu.abs() * v.sqrt()
        tv = dv * K / (K - 1) + 2 * u * r
        at = {"reduce": "dim"}
        case(f"var {dtype} {dims}", "moments", dtype, r, tv + tiny, inputs={"self": x},
             attributes={"kind": "var", **at}, scalars=scalars)
        sd = x.std(axes)
        ts = torch.minimum(tv / (2 * sd), tv.sqrt()) + 2 * u * sd
        case(f"std {dtype} {dims}", "moments", dtype, sd, ts + tiny, inputs={"self": x},
             attributes={"kind": "std", **at}, scalars=scalars)
        case(f"std_mean {dtype} {dims}", "moments", dtype, mu, dmu + u * mu.abs(),
             inputs={"self": x}, attributes={"kind": "std", **at}, scalars=scalars, output=1)
    x = data(5, 12, dtype=dtype)
    for p in (2, 1, 3):
        r = torch.linalg.vector_norm(x, p, 1)
        factor = R(12, r) / 2 + 4 if p == 2 else (R(12, r) + 32) / p + 32
        case(f"norm {dtype} {p}", "moments", dtype, r, u * r * factor, inputs={"self": x},
             attributes={"kind": "norm"}, scalars={"ord": p, "dim": [1]})
    v, g = data(4, 3, 2, dtype=dtype), data(4, 1, 1, dtype=dtype)
    r = torch._weight_norm(v, g, 0)
    case("weight_norm " + dtype, "moments", dtype, r, u * r.abs() * (R(6, r) / 2 + 8) + tiny,
         inputs={"v": v, "g": g}, attributes={"kind": "weight_norm"}, scalars={"dim": 0})
    r = x.prod(1)
    case("prod " + dtype, "product", dtype, r, 11 * u * r.abs() + tiny, inputs={"self": x},
         attributes={"reduce": "dim"}, scalars={"dim": 1}, tau_wider=final(11 * u * r.abs() + tiny, r, dtype))
    r = x.cumprod(0)
    tau = torch.arange(5, dtype=f64).reshape(5, 1) * u * r.abs() + tiny
    case("cumprod " + dtype, "product", dtype, r, tau, inputs={"self": x},
         attributes={"reduce": "dim", "running": "true"}, scalars={"dim": 0},
         tau_wider=final(tau, r, dtype))
u, tiny = u_of("f32"), tiny_of("f32")
x = torch.tensor([1e-30, 1e-20, 1e20, 1e28], dtype=f64)
r = x.prod()
case("prod that may underflow", "product", "f32", r, 3 * u * r + tiny, inputs={"self": x},
     tau_wider=r * (1 + 3 * u) + tiny)

# Losses: the element's own bound, the sum's, the division's.
N = {"none": 0, "mean": 1, "sum": 2}


def reduced(reduction, v, tau, divisor):
    if reduction == "none":
        return tau + tiny
    S, q, K = v.abs().sum(), v.pow(2).sum().sqrt(), v.numel()
    l = math.sqrt(2 * math.log(2 / 1e-9))
    error = min(l * math.sqrt(max(K, 3) / 3) * u * (v.sum().abs() + q), (K + 2) * u * S)
    total = tau.sum() + error
    return (total / divisor + 2 * u * v.sum().abs() / divisor if reduction == "mean" else total) + tiny


def loss_case(kind, f, tau, inputs, scalars=(), ints=(), divisor=None):
    v = f("none")
    for reduction in ("none", "mean", "sum"):
        r = f(reduction)
        case(f"{kind} {reduction} {dict(scalars)}", "loss", "f32", r,
             reduced(reduction, v.reshape(-1), tau.reshape(-1), divisor or v.numel()).reshape(r.shape),
             inputs=inputs, attributes={"kind": kind}, ints=ints,
             scalars={**dict(scalars), "reduction": N[reduction]})


x, t = data(5, 7), data(5, 7)
both = {"self": x, "target": t}
loss_case("mse", lambda n: F.mse_loss(x, t, reduction=n), 4 * u * (x - t) ** 2, both)
loss_case("l1", lambda n: F.l1_loss(x, t, reduction=n), u * (x - t).abs(), both)
loss_case("smooth_l1", lambda n: F.smooth_l1_loss(x, t, reduction=n, beta=0.5),
          6 * u * F.smooth_l1_loss(x, t, reduction="none", beta=0.5), both, {"beta": 0.5})
loss_case("huber", lambda n: F.huber_loss(x, t, reduction=n, delta=0.7),
          6 * u * F.huber_loss(x, t, reduction="none", delta=0.7), both, {"delta": 0.7})
y, w = torch.sigmoid(t), data(7).abs()
p = torch.sigmoid(x)
yes, no = y * p.log().abs(), (1 - y) * torch.log1p(-p).abs()
loss_case("bce", lambda n: F.binary_cross_entropy(p, y, w, reduction=n),
          w * u * (8 * (yes + no) + 2 * (1 - y)), {"self": p, "target": y, "weight": w})
pos = data(7).abs()
v = F.binary_cross_entropy_with_logits(x, y, w, reduction="none", pos_weight=pos)
cond = (v / w).abs() + (x * (torch.sigmoid(x) - y)).abs() + (x * y).abs()
loss_case("bce_logits",
          lambda n: F.binary_cross_entropy_with_logits(x, y, w, reduction=n, pos_weight=pos),
          8 * u * w * pos.clamp(min=1) * (cond + x.abs() + (x * y).abs() + 1),
          {"self": x, "target": y, "weight": w, "pos_weight": pos})
own, cross = y * y.log(), y * x
loss_case("kl_div", lambda n: F.kl_div(x, y, reduction=n),
          u * (8 * own.abs() + 2 * cross.abs() + (own - cross).abs()), {"self": x, "target": y})
loss_case("kl_div", lambda n: F.kl_div(x, t, reduction=n, log_target=True),
          u * t.exp() * (t - x).abs() * (12 + 2 * t.abs()), both, {"log_target": 1})
c = torch.tensor([0, 3, 6, 2, 3])
row = torch.arange(5)
loss_case("nll", lambda n: F.nll_loss(x, c, w, reduction=n, ignore_index=2),
          3 * u * torch.where(c == 2, 0.0, (w[c] * x[row, c]).abs()),
          {"self": x, "target": c, "weight": w}, {"ignore_index": 2}, ("target",),
          float(w[c][c != 2].sum()))
top = x.amax(1, keepdim=True)
ls, pd = torch.log_softmax(x, 1), (torch.softmax(x, 1) * (top - x)).sum(1, keepdim=True)
rk = math.sqrt(2 * math.log(2 * 5 / 1e-9)) * math.sqrt(7 / 3)
each = u * (2 * x.abs() + 2 * top.abs() + ls.abs() + 7 * (torch.logsumexp(x, 1, True) - top) + pd + rk + 9)
loss_case("cross_entropy", lambda n: F.cross_entropy(x, c, w, reduction=n),
          w[c] * each[row, c] + 3 * u * (w[c] * ls[row, c]).abs(),
          {"self": x, "target": c, "weight": w}, {"ignore_index": -100}, ("target",), float(w[c].sum()))
share = 0.8 * F.one_hot(c, 7).to(f64) + 0.2 / 7
loss_case("cross_entropy", lambda n: F.cross_entropy(x, c, reduction=n, label_smoothing=0.2),
          (share * each).sum(1) + (3 + rk) * u * (share * ls.abs()).sum(1),
          {"self": x, "target": c}, {"label_smoothing": 0.2}, ("target",), 5.0)
q = torch.softmax(t, 1)
loss_case("cross_entropy", lambda n: F.cross_entropy(x, q, reduction=n),
          (q * each).sum(1) + (3 + rk) * u * (q * ls.abs()).sum(1), {"self": x, "target": q}, {}, (), 5.0)


# Fourier transforms: q from the signal (Parseval), K of both products of a complex term.
def fft_case(name, f, x, dims, scale, dtype="f32", attributes=(), scalars=()):
    r, u = f(x), u_of(dtype)
    K = 2 * math.prod(max(x.shape[d], r.shape[d]) for d in dims)
    out = torch.view_as_real(r) if r.is_complex() else r
    q = scale * x.abs().pow(2).sum(dims, keepdim=True).sqrt().expand(r.shape)
    q = q.unsqueeze(-1).expand(out.shape) if r.is_complex() else q
    S = math.sqrt(K) * q
    std = (q * q / K - (out / K) ** 2).clamp(min=0).sqrt()
    tau, _ = accumulation(out, S, q, K, u, std, S, denorm=2.0**-1074 if dtype == "f64" else 2.0**-149)
    given = torch.view_as_real(x) if x.is_complex() else x
    case(name, "fft", dtype, out, tau, inputs={"self": given},
         attributes={"reduce": "dim", **dict(attributes)}, scalars=dict(scalars),
         complex_operands=x.is_complex(), complex_result=r.is_complex())


z = torch.complex(data(2, 8), data(2, 8))
fft_case("fft", torch.fft.fft, z, (1,), 1, scalars={"dim": -1})
fft_case("ifft ortho", lambda x: torch.fft.ifft(x, norm="ortho"), z, (1,), 1 / math.sqrt(8), scalars={"dim": -1})
fft_case("fft of real numbers", torch.fft.fft, data(2, 6), (1,), 1, scalars={"dim": -1})
fft_case("fftn", torch.fft.fftn, data(2, 3, 4, dtype="f64"), (0, 1, 2), 1, "f64")
fft_case("fft2 by s", lambda x: torch.fft.fftn(x, s=(3, 4)), data(2, 3, 4), (1, 2), 1, scalars={"s": [3, 4]})
x = data(2, 8)
r = torch.view_as_real(torch.fft.rfft(x))
q = (r.pow(2).sum((1, 2), keepdim=True) / 4).sqrt().expand(r.shape)  # half - 1 = 4
std = (q * q / 16 - (r / 16) ** 2).clamp(min=0).sqrt()
tau, _ = accumulation(r, 4 * q, q, 16, u, std, 4 * q)
case("rfft", "fft", "f32", r, tau, inputs={"self": x}, attributes={"reduce": "dim", "onesided": "true"},
     scalars={"dim": -1}, complex_result=True)


# Between neighbours.
def near(x, out, corners, reach):
    """Largest |x| within `reach` of the input coordinate of every output, along the last two dims."""
    def places(n, m):
        i = torch.arange(m, dtype=f64)
        at = i * ((n - 1) / (m - 1)) if corners else (i + 0.5) * (n / m) - 0.5
        return [(max(0, round(c) - reach), min(n - 1, round(c) + reach)) for c in at.tolist()]
    rows, columns = places(x.shape[2], out[0]), places(x.shape[3], out[1])
    return torch.stack([torch.stack([x[:, :, a:b + 1, c:d + 1].abs().amax((2, 3)) for c, d in columns], -1)
                        for a, b in rows], -2)


x = data(1, 2, 7, 5)
for corners in (False, True):
    r = F.interpolate(x, (9, 11), mode="bilinear", align_corners=corners)
    case(f"bilinear {corners}", "interpolate", "f32", r, u * (8 + 14) * near(x, (9, 11), corners, 2),
         inputs={"self": x}, scalars={"align_corners": int(corners), "output_size": [9, 11]})
r = F.interpolate(x, (9, 11), mode="bicubic", align_corners=False)
case("bicubic", "interpolate", "f32", r, 2 * u * (8 + 14) * near(x, (9, 11), False, 2),
     inputs={"input": x}, attributes={"factor": "2"}, scalars={"align_corners": 0})
x = data(3, 9)
r = torch.quantile(x, 0.3, 1)
s, rank = x.sort(1).values, 0.3 * 8
moved = 4 * u * (rank + 1)
case("quantile", "quantile", "f32", r, 4 * u * r.abs() + (4 * u + moved) * (s[:, 3] - s[:, 2]),
     inputs={"self": x}, attributes={"reduce": "dim"}, scalars={"q": 0.3, "dim": 1})

# Reduced where an index says, each place with its own number of terms.
x, src = data(4, 3), data(6, 3)
index = torch.tensor([[0, 1, 2], [0, 1, 2], [0, 3, 2], [0, 3, 1], [0, 0, 1], [3, 0, 1]])
hits = torch.zeros(4, 3, dtype=f64).scatter_add(0, index, torch.ones(6, 3, dtype=f64))
for reduce in ("sum", "mean", "prod"):
    for include in (True, False):
        K = hits + 1 if include else hits.clamp(min=1)
        start = x if include else torch.where(hits > 0, torch.zeros_like(x), x)
        r = x.scatter_reduce(0, index, src, reduce, include_self=include)
        total = start.scatter_add(0, index, src)
        S = start.abs().scatter_add(0, index, src.abs())
        Q = (start**2).scatter_add(0, index, src**2)
        std = (Q / K - (total / K) ** 2).clamp(min=0).sqrt()
        walk = L(r) * (K.clamp(min=3) / 3).sqrt()
        tau = torch.minimum(walk * u * (total.abs() + Q.sqrt()), (K + 2) * u * S)
        tau = torch.where(std < 4 * u * S, torch.maximum(tau, (K / 2 + 2) * u * S), tau) + K * 2.0**-149
        if reduce == "mean":
            tau = tau / K + 2 * u * r.abs()
        if reduce == "prod":
            tau = (K - 1) * u * r.abs() + tiny
        case(f"scatter {reduce} {include}", "scatter_reduce", "f32", r, tau, ints=("index",),
             inputs={"self": x, "index": index, "src": src}, words={"reduce": reduce},
             scalars={"dim": 0, "include_self": int(include)})

print("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]")
