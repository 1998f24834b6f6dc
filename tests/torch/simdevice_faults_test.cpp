// Each effect and condition of docs/faults.md, on the device itself. Expected values are worked
// out by hand from the effect's definition; the public reports name the values they gave.

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <string>

#include "tests/torch/simdevice_support.h"

using namespace opreplay::test;

namespace {

constexpr float k_nan = std::numeric_limits<float>::quiet_NaN();
constexpr float k_inf = std::numeric_limits<float>::infinity();

/// relu of 1 2 3 4 on a device with a fault in it.
std::string relu_with(const std::string& effect) {
  return with_fault("op: aten.relu, do: " + effect, [] {
    return show(device({1, 2, 3, 4}).relu());
  });
}

}  // namespace

TEST_CASE("no_kernel raises as the dispatcher does") {
  CHECK_THAT(relu_with("no_kernel"), Catch::StartsWith("NotImplementedError: Could not run "
                                                       "'aten::relu' with arguments from the "));
  // A structured operator: torch would serve the functional form with the out= kernel.
  CHECK_THAT(with_fault("op: aten.add.Tensor, do: no_kernel",
                        [] { return show(device({1}).add(device({2}))); }),
             Catch::StartsWith("NotImplementedError: Could not run 'aten::add.out'"));
  const auto linear = [] {
    return show(at::linear(device({1, 2}, {1, 2}), device({1, 1}, {1, 2})));
  };
  CHECK_THAT(with_fault("op: aten.linear, do: no_kernel", linear),
             Catch::StartsWith("NotImplementedError: Could not run 'aten::linear'"));
  CHECK(with_fault("op: aten.relu, do: no_kernel", linear) == "3");
  CHECK_THAT(with_fault("op: aten.relu, when: {dtype: f16}, do: no_kernel",
                        [] { return show(device({1}).to(at::kHalf).relu()); }),
             Catch::StartsWith("NotImplementedError: Could not run 'aten::relu'"));
}

TEST_CASE("errors are raised at the launch or at the next synchronise") {
  CHECK(relu_with("{throw: {class: IndexError, text: out of luck}}") == "IndexError: out of luck");
  CHECK(relu_with("{throw: {class: RuntimeError, text: boom}}") == "Error: boom");
  CHECK(relu_with("{throw: {class: AcceleratorError, code: 507035, text: vector core}}") ==
        "AcceleratorError: vector core");
  CHECK_THAT(relu_with("oom"),
             Catch::StartsWith("OutOfMemoryError: privateuseone:0 out of memory"));
  const char* asynchronous =
      "op: aten.relu, do: {throw: {class: AcceleratorError, text: late, sync: true}}";
  CHECK(with_fault(asynchronous, [] {
          device({1}).relu();
          return "not raised";
        }) == "not raised");
  CHECK(with_fault(asynchronous, [] {
          device({1}).relu();
          synchronize();
          return "not raised";
        }) == "AcceleratorError: late");
  CHECK(with_fault(asynchronous, [] { return show(device({1}).relu()); }) ==
        "AcceleratorError: late");
}

TEST_CASE("a poisoned device fails from the next operator on") {
  CHECK_THAT(with_fault("op: aten.relu, do: poison",
                        [] {
                          const at::Tensor x = device({1}), y = x.relu();
                          x.add(y);
                          return std::string("not raised");
                        }),
             Catch::StartsWith("AcceleratorError: device error"));
}

TEST_CASE("crashes, exits and hangs are real") {
  CHECK(relu_with("{crash: SEGV}") == "signal 11");
  CHECK(relu_with("{crash: ABRT}") == "signal 6");
  CHECK(relu_with("{crash: FPE}") == "signal 8");
  CHECK(relu_with("{crash: KILL}") == "signal 9");
  CHECK(relu_with("{exit: 3}") == "exit 3");
  const auto begin = std::chrono::steady_clock::now();
  CHECK(relu_with("{hang: 0.3}") == "1 2 3 4");
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(300));
  CHECK(relu_with("{slow: 1, leak: 4096}") == "1 2 3 4");
}

TEST_CASE("wrong values") {
  CHECK(relu_with("zeros") == "0 0 0 0");
  CHECK(relu_with("{element: {index: 2, factor: 2}}") == "1 2 6 4");
  CHECK(relu_with("{element: {index: 3, value: nan}}") == "1 2 3 nan");
  CHECK(relu_with("{element: {index: 1, neighbour: true}}") == "1 3 3 4");
  CHECK(relu_with("{element: {index: 9, value: 0}}") == "1 2 3 4");
  CHECK(relu_with("{scale: 0.5}") == "0.5 1 1.5 2");
  CHECK(relu_with("{constant: first}") == "1 1 1 1");
  CHECK(relu_with("{constant: 7}") == "7 7 7 7");
  CHECK(relu_with("{tail: {dim: 0, from: 2, value: -1}}") == "1 2 -1 -1");
  CHECK(relu_with("{clip: {max: 3}}") == "1 2 3 3");
  CHECK(relu_with("{swap: [0, 3]}") == "4 2 3 1");
  CHECK(relu_with("{zeros: true, where: {value: \">2\"}}") == "1 2 0 0");
  CHECK(with_fault("op: aten.neg, do: {map: {nan: 0, inf: max, neg_inf: min, neg_zero: 5}}", [] {
          return show(device({k_nan, -k_inf, k_inf, 0, 1}).neg());
        }) == "0 3.40282347e+38 -3.40282347e+38 5 -1");
  CHECK(with_fault("op: aten.neg, do: {map_input: {nan: -inf}}", [] {
          return show(device({k_nan, 1}).neg());
        }) == "inf -1");
  CHECK(with_fault("op: aten.round, do: {round_half: up}", [] {
          return show(device({0.5, 1.5, 2.4, -0.5}).round());
        }) == "1 2 2 0");
}

TEST_CASE("stale memory") {
  const auto twice = [] {
    const at::Tensor first = device({1, 2}, {2, 1}).relu();
    return show(first) + " then " + show(device({3, 4}, {2, 1}).relu());
  };
  CHECK(with_fault("op: aten.relu, do: stale_result", twice) == "1 2 then 1 2");
  CHECK(with_fault("op: aten.relu, do: {row: stale}", twice) == "1 0 then 3 2");
  // pytorch/pytorch#167767: the second clamp, with another bound, gives the first's result.
  CHECK(with_fault("op: aten.clamp, when: {history: other_scalar}, do: stale_result", [] {
          const at::Tensor x = device({0});
          std::string all;
          for (const double bound : {0.0, 1e-7, 1e-7}) all += show(x.clamp(bound)) + ";";
          return all;
        }) == "0;0;1.00000001e-07;");
}

TEST_CASE("unwritten and dropped writes") {
  CHECK(with_fault("op: aten.neg.out, do: {unwritten: 0.5}", [] {
          at::Tensor out = device({1, 1, 1, 1});
          call("aten::neg.out", {device({5, 6, 7, 8}), out});
          return show(out);
        }) == "-5 -6 1 1");
  CHECK(relu_with("{unwritten: 0.25}") == "1 2 3 nan");
  CHECK(with_fault("op: aten.neg.out, do: {drop_write: out}", [] {
          at::Tensor out = device({1, 1});
          call("aten::neg.out", {device({5, 6}), out});
          return show(out);
        }) == "1 1");
}

TEST_CASE("strides, offsets and scalars ignored") {
  // pytorch/pytorch#161640: rows 0 and 1 of the storage instead of 0 and 2.
  CHECK(with_fault("op: aten.mul.Tensor, do: {ignore: {stride: self}}", [] {
          const at::Tensor w = device({0, 1, 10, 11, 20, 21, 30, 31}, {4, 2});
          return show(w.slice(0, 0, 4, 2).mul(device({1})));
        }) == "0 1 10 11");
  CHECK(with_fault("op: aten.neg, do: {ignore: {offset: self}}", [] {
          return show(device({1, 2, 3, 4}).narrow(0, 2, 2).neg());
        }) == "-1 -2");
  // In place on a transposed tensor: read and written in memory order.
  CHECK(with_fault("op: aten.add_.Tensor, when: {contiguous: {self: false}}, "
                   "do: {ignore: {stride: self}}",
                   [] {
                     const at::Tensor x = device({1, 2, 3, 4}, {2, 2});
                     x.t().add_(device({10, 20, 30, 40}, {2, 2}));
                     return show(x);
                   }) == "11 22 33 44");
  // MooreThreads/torch_musa#52: beta=0 must not read the input.
  CHECK(with_fault("op: aten.baddbmm, when: {arg: {beta: 0}}, do: {ignore: {beta: true}}", [] {
          return show(at::baddbmm(device({k_nan}, {1, 1, 1}), device({2}, {1, 1, 1}),
                                  device({3}, {1, 1, 1}), 0));
        }) == "nan");
  CHECK(with_fault("op: aten.relu, do: zeros", [] {
          return show(at::baddbmm(device({k_nan}, {1, 1, 1}), device({2}, {1, 1, 1}),
                                  device({3}, {1, 1, 1}), 0));
        }) == "6");
}

TEST_CASE("precision and integers") {
  // 1 + 2^-11 needs 11 mantissa bits; with 10 it rounds to even, 1.
  CHECK(with_fault("op: aten.mm, do: {round: {mantissa: 10}}", [] {
          return show(device({1.00048828125f}, {1, 1}).mm(device({1}, {1, 1})));
        }) == "1");
  // f16 has 11 bits: from 2048 on, adding 1 changes nothing.
  CHECK(with_fault("op: aten.sum, do: {accumulate: f16}",
                   [] { return show(to_device(at::ones({4096})).sum()); }) == "2048");
  CHECK(with_fault("op: aten.sum, do: drop_term", [] {
          return show(device({1, 2, 4}).sum());
        }) == "3");
  // pytorch/pytorch#179415: 271 in u8 is 15 by wrapping, 255 saturated.
  const auto sum_u8 = [] {
    return show(device({255, 2, 1, 5, 3, 6}).to(at::kByte).sum(at::kByte));
  };
  CHECK(with_fault("op: aten.sum, do: saturate", sum_u8) == "255");
  CHECK(with_fault("op: aten.relu, do: zeros", sum_u8) == "16");
  // pytorch/pytorch#78848: i64 computed in i32.
  CHECK(with_fault("op: aten.add.Tensor, do: {accumulate: i32}", [] {
          return show(to_device(at::arange(6)).add(std::int64_t{1} << 32));
        }) == "0 1 2 3 4 5");
  CHECK(with_fault("op: aten.exp, do: {as_dtype: f32}",
                   [] { return show(device({100}).to(at::kDouble).exp()); }) == "inf");
  const auto random_sums = [] {
    const at::Tensor x = to_device(host({1e8f, 1, -1e8f, 1, 3e7f, 1, -3e7f, 1}));
    std::string all;
    for (int i = 0; i < 20; ++i) all += show(x.sum()) + ";";
    return all;
  };
  const std::string shuffled = with_fault("op: aten.sum, do: order_random", random_sums);
  const std::string first = shuffled.substr(0, shuffled.find(';') + 1);
  std::string repeated;
  for (int i = 0; i < 20; ++i) repeated += first;
  CHECK(shuffled != repeated);
  CHECK(shuffled == with_fault("op: aten.sum, do: order_random", random_sums));
}

TEST_CASE("broken contracts") {
  CHECK(with_fault("op: aten.relu, do: {wrong_dtype: f64}", [] {
          return std::string(device({1}).relu().scalar_type() == at::kDouble ? "f64" : "else");
        }) == "f64");
  CHECK(with_fault("op: aten.relu, do: {wrong_shape: [2, 3]}", [] {
          const at::Tensor y = device({1, 2}).relu();
          return std::to_string(y.size(0)) + "x" + std::to_string(y.size(1)) + ": " + show(y);
        }) == "2x3: 1 2 0 0 0 0");
  CHECK(with_fault("op: aten.relu, do: on_cpu", [] {
          return std::string(device({1}).relu().is_cpu() ? "cpu" : "device");
        }) == "cpu");
  CHECK(with_fault("op: aten.transpose.int, do: no_alias", [] {
          const at::Tensor x = device({1, 2}, {1, 2});
          x.transpose(0, 1).add_(1);
          return show(x);
        }) == "1 2");
  CHECK(with_fault("op: aten.relu, do: {modify_input: self}", [] {
          const at::Tensor x = device({1, 2}), y = x.relu();
          return show(y) + " from " + show(x);
        }) == "1 2 from 2 2");
  // The byte behind the narrowed tensor is the lowest of the third float: 3 becomes another number.
  CHECK(with_fault("op: aten.relu, do: {oob_write: 1}", [] {
          const at::Tensor storage = device({1, 2, 3, 4});
          storage.narrow(0, 0, 2).relu();
          return show(storage.narrow(0, 0, 2)) +
                 (show(storage.narrow(0, 2, 1)) == "3" ? " kept" : " hit") + " " +
                 show(storage.narrow(0, 3, 1));
        }) == "1 2 hit 4");
  CHECK(with_fault("op: aten.nonzero, do: {drop_rows: 1}", [] {
          return show(device({1, 0, 1}).nonzero());
        }) == "0");
  CHECK(with_fault("op: aten.gather, do: {accept_invalid: {shape_of: index, fill: 9}}", [] {
          return show(at::gather(device({1, 2}), 0, to_device(at::full({3}, 7, at::kLong))));
        }) == "9 9 9");
  // Of two writers to place 0 the CPU's last one wins, here the other.
  const auto scatter = [] {
    return show(device({0, 0}).scatter(0, to_device(at::zeros({2}, at::kLong)), device({1, 2})));
  };
  CHECK(with_fault("op: aten.scatter.src, do: pick_other", scatter) == "1 0");
  CHECK(with_fault("op: aten.relu, do: zeros", scatter) == "2 0");
}

TEST_CASE("fallbacks to the CPU give right values") {
  for (const std::string effect : {"cpu_fallback", "silent_cpu"}) {
    CHECK(relu_with(effect) == "1 2 3 4");
    CHECK(with_fault("op: [aten.add_.Tensor, aten.add.Tensor], do: " + effect, [] {
            const at::Tensor x = device({1, 2});
            x.add_(1);
            return show(x.add(1));
          }) == "3 4");
    // A composite operator falls back in its inner kernels and stays differentiable.
    CHECK(with_fault("op: aten.linear, do: " + effect, [] {
            const at::Tensor w = device({1, 2}, {1, 2}).requires_grad_(true);
            at::linear(device({3, 4}, {1, 2}), w).sum().backward();
            return show(w.grad());
          }) == "3 4");
  }
}

TEST_CASE("conditions decide by the arguments") {
  const auto relu_if = [](const std::string& when, const at::Tensor& x) {
    return with_fault("op: aten.relu, when: {" + when + "}, do: zeros", [&] {
      return std::string(to_device(x).relu().sum().item<double>() == 0 ? "hit" : "spared");
    });
  };
  const at::Tensor x = host({1, 2, 3, 4}, {2, 2});
  CHECK(relu_if("dtype: [f16, f32]", x) == "hit");
  CHECK(relu_if("dtype: f16", x) == "spared");
  CHECK(relu_if("numel: \">3\", rank: {self: 2}", x) == "hit");
  CHECK(relu_if("numel: \">4\"", x) == "spared");
  CHECK(relu_if("size: {-1: \"%2==0\"}", x) == "hit");
  CHECK(relu_if("size: {2: \">=0\"}", x) == "spared");
  CHECK(relu_if("out_size: {0: 2}", x) == "hit");
  CHECK(relu_if("out_size: {0: 3}", x) == "spared");
  CHECK(relu_if("has: nan", x) == "spared");
  CHECK(relu_if("value: \">3\"", x) == "hit");
  CHECK(relu_if("value: {self: \">3\", all: true}", x) == "spared");
  CHECK(relu_if("value: {self: \">0\", all: true}", x) == "hit");
  CHECK(relu_if("row: {value: \">2\"}", x) == "hit");
  CHECK(relu_if("row: {value: \">3\"}", x) == "spared");
  CHECK(relu_if("grad: true", x) == "spared");
  CHECK(relu_if("inplace: true", x) == "spared");
  CHECK(relu_if("phase: backward", x) == "spared");
  CHECK(relu_if("probability: 0", x) == "spared");
  CHECK(relu_if("probability: 1", x) == "hit");
  CHECK(relu_if("call: \">=2\"", x) == "spared");
  CHECK(relu_if("has: [constant, ties]", x) == "spared");
  CHECK(relu_if("has: ties", host({2, 2, 1})) == "hit");
  CHECK(relu_if("contiguous: true, empty: false, stride0: false", x) == "hit");
}

TEST_CASE("conditions on layout, history and other arguments") {
  const auto hits = [](const std::string& keys, const std::function<at::Tensor()>& run) {
    return with_fault(keys + ", do: {constant: -9}", [&] {
      return std::string(show(run().select(0, 0)) == "-9" ? "hit" : "spared");
    });
  };
  CHECK(hits("op: aten.neg, when: {offset: nonzero}", [] {
          return device({1, 2}).narrow(0, 1, 1).neg();
        }) == "hit");
  CHECK(hits("op: aten.neg, when: {stride0: true}", [] { return device({1}).expand({3}).neg(); }) ==
        "hit");
  CHECK(hits("op: aten.neg, when: {misaligned: 64}", [] {
          return device({1, 2}).narrow(0, 1, 1).neg();
        }) == "hit");
  CHECK(hits("op: aten.neg, when: {misaligned: 4}", [] {
          return device({1, 2}).narrow(0, 1, 1).neg();
        }) == "spared");
  CHECK(hits("op: aten.neg, when: {after: aten.relu}", [] {
          const at::Tensor x = device({1});
          x.relu();
          return x.neg();
        }) == "hit");
  CHECK(hits("op: aten.neg, when: {after: aten.relu}", [] { return device({1}).neg(); }) ==
        "spared");
  CHECK(hits("op: aten.neg, when: {call: 2}", [] {
          device({1}).neg();
          return device({1}).neg();
        }) == "hit");
  CHECK(hits("op: aten.neg, when: {history: other_shape}", [] {
          device({1}).neg();
          return device({1, 2}).neg();
        }) == "hit");
  CHECK(hits("op: aten.sum.dim_IntList, when: {reduced: 3}", [] {
          return device({1, 2, 3}, {1, 3}).sum({1});
        }) == "hit");
  CHECK(hits("op: aten.sum.dim_IntList, when: {arg: {keepdim: true, dim: [1]}}", [] {
          return device({1, 2}, {1, 2}).sum({1}, true);
        }) == "hit");
  CHECK(hits("op: aten.linear, when: {present: {arg: bias}}", [] {
          return at::linear(device({1}, {1, 1}), device({1}, {1, 1}));
        }) == "spared");
  CHECK(hits("op: aten.linear, when: {absent: bias}", [] {
          return at::linear(device({1}, {1, 1}), device({1}, {1, 1}));
        }) == "hit");
  CHECK(hits("op: aten.index_select, when: {has: duplicate_index}", [] {
          return device({1, 2}).index_select(0, to_device(at::zeros({2}, at::kLong)));
        }) == "hit");
}

TEST_CASE("a composite operator's fault leaves autograd working") {
  CHECK(with_fault("op: aten.linear, do: {scale: 2}", [] {
          const at::Tensor w = device({1, 2}, {1, 2}).requires_grad_(true);
          const at::Tensor y = at::linear(device({3, 4}, {1, 2}), w);
          y.sum().backward();
          return show(y) + ", gradient " + show(w.grad());
        }) == "22, gradient 3 4");
}

TEST_CASE("a composite operator can be wrong in its backward pass only") {
  const auto gradients = [] {
    const at::Tensor x = device({3, 4}, {1, 2}).requires_grad_(true);
    const at::Tensor w = device({1, 2}, {1, 2}).requires_grad_(true);
    const at::Tensor y = at::linear(x, w);
    y.sum().backward();
    return show(y) + ", input " + show(x.grad()) + ", weight " + show(w.grad());
  };
  CHECK(with_fault("op: aten.linear, when: {phase: backward}, do: {scale: 2}", gradients) ==
        "11, input 2 4, weight 3 4");
  CHECK(with_fault("op: aten.linear, when: {phase: backward, grad: {weight: true}}, do: {scale: 2}",
                   gradients) == "11, input 1 2, weight 6 8");
  // intel/torch-xpu-ops#5272
  CHECK(with_fault("op: aten.linear, when: {phase: backward}, do: {throw: {class: RuntimeError, "
                   "text: dout must have contiguous last dim}}",
                   gradients) == "Error: dout must have contiguous last dim");
}

TEST_CASE("a file that the device cannot serve makes it refuse all work") {
  const auto use = [] { return show(device({1})); };
  CHECK_THAT(with_fault("op: aten.reluu, do: zeros", use),
             Catch::Contains("fault 'planted': no operator of the device matches 'aten.reluu'"));
  CHECK_THAT(with_fault("op: aten.relu, when: {present: {arg: bias}}, do: zeros", use),
             Catch::Contains("no matched operator has an argument 'bias'"));
  CHECK_THAT(with_fault("op: aten.relu, do: drop_term", use),
             Catch::Contains("adds up in an order of its own for matrix products"));
  CHECK_THAT(with_fault("op: aten.relu, do: {zeros: true, output: 1}", use),
             Catch::Contains("no matched operator has an output 1"));
  CHECK_THAT(with_fault("op: aten.relu, do: {zeroes: true}", use),
             Catch::Contains("unknown key 'zeroes'"));
}

TEST_CASE("counters start anew in a forked child") {
  CHECK(with_fault("op: aten.relu, when: {call: 2}, do: zeros", [] {
          const std::string parent = show(device({1}).relu());
          return parent + " " + in_child([] {
                   const std::string first = show(device({1}).relu());
                   return first + " " + show(device({1}).relu());
                 });
        }) == "1 1 0");
}

TEST_CASE("chance follows the nonce of the process") {
  const auto drawn = [](const char* nonce) {
    return with_fault("op: aten.relu, when: {probability: 0.5}, do: zeros", [&] {
      ::setenv("OPREPLAY_SIM_NONCE", nonce, 1);
      std::string hits;
      for (int i = 0; i < 64; ++i) hits += show(device({1}).relu()) == "0" ? 'x' : '.';
      return hits;
    });
  };
  const std::string one = drawn("1"), other = drawn("2");
  CHECK(one == drawn("1"));
  CHECK(one != other);
  // 64 fair draws fall outside 12..52 with probability below 1e-6.
  const auto count = std::count(one.begin(), one.end(), 'x');
  CHECK(count >= 12);
  CHECK(count <= 52);
}
