// The honest device against the CPU: forward, gradients, views, in-place, out=, own accumulation
// orders, forks. Values of the CPU are torch's own; sums in a given order are worked out by hand.

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv_transpose2d.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/gru_cell.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/lstm_cell.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "tests/torch/simdevice_support.h"

using namespace opreplay::test;

namespace {

using Tensors = std::vector<at::Tensor>;
using Op = std::function<Tensors(const Tensors&)>;

struct Case {
  std::string name;
  Tensors inputs;
  Op run;
  bool exact;  ///< the device computes with the CPU's kernel: bitwise equal
};

std::string difference(const at::Tensor& cpu, const at::Tensor& device, bool exact) {
  if (!cpu.defined() || !device.defined())
    return cpu.defined() == device.defined() ? "" : "defined on one side only";
  const at::Tensor fetched = device.detach().cpu();
  if (!device.is_privateuseone()) return "not on the device";
  if (fetched.sizes() != cpu.sizes() || fetched.scalar_type() != cpu.scalar_type())
    return "other shape or dtype";
  const double loose = cpu.scalar_type() == at::kDouble  ? 1e-12
                       : cpu.scalar_type() == at::kFloat ? 1e-5
                                                         : 2e-2;
  const bool same =
      exact ? fetched.equal(cpu) || fetched.allclose(cpu, 0, 0, /*equal_nan=*/true)
            : fetched.to(at::kDouble).allclose(cpu.detach().to(at::kDouble), loose, loose, true);
  return same ? "" : "other values";
}

/// Forward, and gradients of everything floating, for the same random gradient.
std::string compare(const Case& one) {
  const auto leaf = [](const at::Tensor& t) {
    return t.is_floating_point() ? t.detach().requires_grad_(true) : t;
  };
  Tensors on_cpu, on_device;
  for (const at::Tensor& input : one.inputs) {
    on_cpu.push_back(leaf(input.clone()));
    on_device.push_back(leaf(to_device(input)));
  }
  const Tensors expected = one.run(on_cpu), actual = one.run(on_device);
  std::string text;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (const auto found = difference(expected[i].detach(), actual[i], one.exact); !found.empty())
      text += one.name + ": " + found + "; ";
    if (!expected[i].requires_grad()) continue;
    const at::Tensor gradient = at::randn(expected[i].sizes(), expected[i].options());
    expected[i].backward(gradient, /*retain_graph=*/true);
    actual[i].backward(to_device(gradient), /*retain_graph=*/true);
  }
  for (std::size_t i = 0; i < on_cpu.size(); ++i)
    if (on_cpu[i].is_floating_point())
      if (const auto found = difference(on_cpu[i].grad(), on_device[i].grad(), false);
          !found.empty())
        text += one.name + ", gradient " + std::to_string(i) + ": " + found + "; ";
  return text;
}

at::Tensor normal(std::initializer_list<std::int64_t> sizes) { return at::randn(sizes); }
at::Tensor index(std::initializer_list<float> values, c10::IntArrayRef sizes = {-1}) {
  return host(values, sizes).to(at::kLong);
}

std::vector<Case> cases_of_the_cpus_kernels() {
  const at::Tensor x = normal({4, 6});
  std::vector<Case> cases{
      {"relu", {x}, [](const Tensors& t) { return Tensors{t[0].relu()}; }, true},
      {"add broadcast",
       {x, normal({6})},
       [](const Tensors& t) { return Tensors{t[0] + t[1]}; },
       true},
      {"mul scalar", {x}, [](const Tensors& t) { return Tensors{t[0] * 2.5}; }, true},
      {"embedding",
       {normal({10, 4}), index({1, 2, 1, 3}, {2, 2})},
       [](const Tensors& t) { return Tensors{at::embedding(t[0], t[1])}; },
       true},
      {"cross entropy",
       {x, index({1, 0, 5, 2})},
       [](const Tensors& t) { return Tensors{at::cross_entropy_loss(t[0], t[1])}; },
       false},
      {"sort",
       {x},
       [](const Tensors& t) {
         const auto [values, indices] = t[0].sort(1, true);
         return Tensors{values, indices};
       },
       true},
      {"views",
       {x},
       [](const Tensors& t) {
         return Tensors{t[0].t(),
                        t[0].slice(1, 1, 5, 2),
                        t[0].select(0, 2),
                        t[0].expand({2, 4, 6}),
                        t[0].unfold(1, 2, 2),
                        t[0].view({-1}),
                        t[0].permute({1, 0})};
       },
       true},
      {"gather",
       {x, index({0, 5, 1, 2}, {4, 1})},
       [](const Tensors& t) { return Tensors{t[0].gather(1, t[1])}; },
       true},
      {"index_select",
       {x, index({3, 0, 3})},
       [](const Tensors& t) { return Tensors{t[0].index_select(0, t[1])}; },
       true},
      {"nonzero", {x}, [](const Tensors& t) { return Tensors{t[0].gt(0).nonzero()}; }, true},
      {"where",
       {x, normal({4, 6})},
       [](const Tensors& t) { return Tensors{at::where(t[0].gt(0), t[0], t[1])}; },
       true},
      {"cumsum, std",
       {x},
       [](const Tensors& t) {
         return Tensors{t[0].cumsum(1), t[0].std(1)};
       },
       true},
      {"max pool",
       {normal({1, 2, 6, 6})},
       [](const Tensors& t) {
         return Tensors{at::max_pool2d(t[0], {2, 2})};
       },
       true},
      {"empty",
       {normal({0, 3})},
       [](const Tensors& t) {
         return Tensors{t[0].relu(), t[0].sum(0)};
       },
       true},
      {"0-dim", {host({2}, {})}, [](const Tensors& t) { return Tensors{t[0].exp() * t[0]}; }, true},
      {"integers",
       {index({1, 2, 3, 4}, {2, 2})},
       [](const Tensors& t) {
         return Tensors{t[0].mm(t[0]), t[0].sum(), t[0].cumsum(0)};
       },
       true},
  };
  return cases;
}

std::vector<Case> cases_of_own_kernels() {
  const auto gates = [](const Tensors& t) {
    const auto [h, c] = at::lstm_cell(t[0], {t[1], t[2]}, t[3], t[4], t[5], t[6]);
    return Tensors{h, c};
  };
  return {
      {"linear",
       {normal({3, 70}), normal({5, 70}), normal({5})},
       [](const Tensors& t) { return Tensors{at::linear(t[0], t[1], t[2])}; },
       false},
      {"linear of 3 dims",
       {normal({2, 3, 8}), normal({5, 8})},
       [](const Tensors& t) { return Tensors{at::linear(t[0], t[1])}; },
       false},
      {"mm of few columns",
       {normal({40, 30}), normal({30, 2})},
       [](const Tensors& t) { return Tensors{t[0].mm(t[1])}; },
       false},
      {"mm without terms",
       {normal({3, 0}), normal({0, 5})},
       [](const Tensors& t) { return Tensors{t[0].mm(t[1])}; },
       true},
      {"mm of f64",
       {normal({4, 9}).to(at::kDouble), normal({9, 4}).to(at::kDouble)},
       [](const Tensors& t) { return Tensors{t[0].mm(t[1])}; },
       false},
      {"mm of f16",
       {normal({4, 9}).to(at::kHalf), normal({9, 4}).to(at::kHalf)},
       [](const Tensors& t) { return Tensors{t[0].mm(t[1])}; },
       false},
      {"baddbmm",
       {normal({2, 3, 6}), normal({2, 3, 4}), normal({2, 4, 6})},
       [](const Tensors& t) { return Tensors{t[0].baddbmm(t[1], t[2], 0.5, 2)}; },
       false},
      {"mv, dot",
       {normal({4, 5}), normal({5})},
       [](const Tensors& t) {
         return Tensors{t[0].mv(t[1]), t[1].dot(t[1])};
       },
       false},
      {"sum, mean",
       {normal({3, 4, 5})},
       [](const Tensors& t) {
         return Tensors{t[0].sum(), t[0].sum({0, 2}, true), t[0].mean(), t[0].mean({-1}),
                        t[0].sum(at::kDouble)};
       },
       false},
      {"softmax",
       {normal({4, 5, 6})},
       [](const Tensors& t) {
         return Tensors{t[0].softmax(1), t[0].log_softmax(-1), t[0].softmax(0, at::kDouble)};
       },
       false},
      {"layer_norm",
       {normal({3, 5, 8}), normal({8}), normal({8})},
       [](const Tensors& t) { return Tensors{at::layer_norm(t[0], {8}, t[1], t[2])}; },
       false},
      {"conv2d",
       {normal({2, 4, 7, 6}), normal({6, 2, 3, 2}), normal({6})},
       [](const Tensors& t) {
         return Tensors{at::conv2d(t[0], t[1], t[2], {2, 1}, c10::IntArrayRef{1, 0}, {1, 2}, 2)};
       },
       false},
      {"conv_transpose2d",
       {normal({2, 4, 5, 4}), normal({4, 3, 3, 2}), normal({6})},
       [](const Tensors& t) {
         return Tensors{at::conv_transpose2d(t[0], t[1], t[2], {2, 1}, {1, 0}, {1, 0}, 2)};
       },
       false},
      {"conv2d of an empty batch",
       {normal({0, 4, 5, 5}), normal({6, 4, 3, 3})},
       [](const Tensors& t) { return Tensors{at::conv2d(t[0], t[1])}; },
       true},
      {"attention",
       {normal({2, 2, 5, 8}), normal({2, 2, 5, 8}), normal({2, 2, 5, 8})},
       [](const Tensors& t) { return Tensors{at::scaled_dot_product_attention(t[0], t[1], t[2])}; },
       false},
      {"lstm_cell",
       {normal({3, 5}), normal({3, 6}), normal({3, 6}), normal({24, 5}), normal({24, 6}),
        normal({24}), normal({24})},
       gates,
       false},
      {"gru_cell",
       {normal({3, 5}), normal({3, 6}), normal({18, 5}), normal({18, 6}), normal({18}),
        normal({18})},
       [](const Tensors& t) { return Tensors{at::gru_cell(t[0], t[1], t[2], t[3], t[4], t[5])}; },
       false},
  };
}

std::string declared(const std::string& order) {
  return "simdevice: 1\ndeclare: {order: \"" + order + "\"}\n";
}

}  // namespace

TEST_CASE("operators with the CPU's kernels equal the CPU, gradients included") {
  CHECK(on_device("simdevice: 1\n", [] {
          std::string all;
          for (const Case& one : cases_of_the_cpus_kernels()) all += compare(one);
          return all;
        }) == "");
}

TEST_CASE("own kernels agree with the CPU in every order") {
  for (const std::string order :
       {"cpu", "reversed", "pairwise", "split_k:8", "blocked:32", "fused"}) {
    INFO(order);
    CHECK(on_device(declared(order), [] {
            std::string all;
            for (const Case& one : cases_of_own_kernels()) all += compare(one);
            return all;
          }) == "");
  }
}

TEST_CASE("sums are added in the declared order") {
  // In f32, 2^24 + 1 rounds to 2^24 (ties to even), so the order shows in the result.
  const auto sum = [](const std::string& order) {
    return on_device(declared(order), [] {
      const at::Tensor x = host({16777216, 1, 1, -16777216});
      const at::Tensor ones = at::empty({4, 1}).fill_(1);
      return show(to_device(x).sum()) + " " + show(to_device(x.view({1, 4})).mm(to_device(ones)));
    });
  };
  CHECK(sum("cpu") == "0 0");       // ((2^24 + 1) + 1) - 2^24
  CHECK(sum("reversed") == "2 2");  // ((-2^24 + 1) + 1) + 2^24
  CHECK(sum("pairwise") == "1 1");  // (2^24 + 1) + (1 - 2^24)
  CHECK(sum("split_k:2") == "1 1");
  CHECK(sum("blocked:3") == "0 0");  // ((2^24 + 1) + 1) + (-2^24)
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: the last term is lost unless the product is not rounded.
  const auto square = [](const std::string& order) {
    return on_device(declared(order), [] {
      const at::Tensor a = device({-1.00048828125f, 1.000244140625f}, {1, 2});
      const at::Tensor b = device({1, 1.000244140625f}, {2, 1});
      return show(a.mm(b));
    });
  };
  CHECK(square("cpu") == "0");
  CHECK(square("fused") == "5.96046448e-08");
}

TEST_CASE("intermediates in T, narrow accumulators and flushed denormals are as declared") {
  // exp(-1) = 0.36788 lies between the f16 neighbours; 1 / (1 + f16(exp(-1))) differs from f32's.
  const auto softmax = [](const std::string& intermediates) {
    return on_device("simdevice: 1\ndeclare: {intermediates: " + intermediates + "}\n", [] {
      const at::Tensor x = to_device(at::arange(64).to(at::kHalf) * 0.0173f);
      return show(x.softmax(0));
    });
  };
  CHECK(softmax("fp32") != softmax("T"));
  CHECK(on_device("simdevice: 1\ndeclare: {accumulate: bf16}\n", [] {
          return show(to_device(at::empty({1024}).fill_(1)).sum());
        }) == "256");  // bf16 has 8 bits
  // 2^-129 is a denormal of f32.
  const auto tiny = [] { return show(device({0x1p-126f}) * 0.125f); };
  CHECK(on_device("simdevice: 1\ndeclare: {ftz: true}\n", tiny) == "0");
  CHECK(on_device("simdevice: 1\n", tiny) == "1.46936794e-39");
}

TEST_CASE("NaN and Inf are never skipped") {
  constexpr float k_nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float k_inf = std::numeric_limits<float>::infinity();
  CHECK(on_device("simdevice: 1\n", [] {
          const at::Tensor zero = device({0, 0}, {1, 2});
          return show(zero.mm(device({k_nan, 1}, {2, 1}))) + " " +
                 show(zero.mm(device({k_inf, 1}, {2, 1}))) + " " +
                 show(device({k_inf, 1, 2}).softmax(0)) + " " +
                 show(device({-k_inf, 0}).softmax(0)) + " " + show(device({k_inf, -k_inf}).sum()) +
                 " " + show(device({3e38f, 3e38f}).sum());
        }) == "nan nan nan nan nan 0 1 nan inf");
}

TEST_CASE("in-place, views and out= share memory as on the CPU") {
  CHECK(on_device("simdevice: 1\n", [] {
          const at::Tensor x = device({1, 2, 3, 4}, {2, 2});
          x.t().select(0, 1).add_(10);
          return show(x);
        }) == "1 12 3 14");
  CHECK(on_device("simdevice: 1\n", [] {
          const at::Tensor x = device({1, 2, 3, 4}, {2, 2});
          at::Tensor out = to_device(at::empty({0}));
          const at::Tensor result = call("aten::mm.out", {x, x, out})[0].toTensor();
          return std::string(result.is_same(out) ? "same " : "other ") + show(out);
        }) == "same 7 10 15 22");  // out= of another size is resized
  CHECK(on_device("simdevice: 1\n", [] {
          const at::Tensor x = device({1, 2, 3});
          x.resize_({2});
          const std::string shrunk = show(x);
          x.resize_({1000}).fill_(1);
          return shrunk + " " + show(x.sum());
        }) == "1 2 1000");
  CHECK(on_device("simdevice: 1\n", [] {
          const at::Tensor m = device({1, 2, 3, 4}, {2, 2});
          m.addmm_(m, m);  // self is read before it is written
          return show(m);
        }) == "8 12 18 26");
}

TEST_CASE("bad calls are rejected") {
  CHECK_THAT(on_device("simdevice: 1\n",
                       [] {
                         return show(device({1, 2}, {1, 2}).mm(device({1, 2}, {1, 2})));
                       }),
             Catch::Contains("mat1 and mat2 shapes cannot be multiplied"));
  CHECK_THAT(on_device("simdevice: 1\n",
                       [] {
                         return show(device({1, 2}) + host({1, 2}));
                       }),
             Catch::Contains("Expected all tensors to be on the same device"));
}

TEST_CASE("one seed gives one sequence on the device") {
  CHECK(on_device("simdevice: 1\n", [] {
          const auto draw = [] { return show(device({0, 0, 0}).normal_()); };
          const std::string first = draw();
          return std::string(first == draw() ? "repeats" : "goes on");
        }) == "goes on");
}

TEST_CASE("a child forked after the library was loaded computes, backward included") {
  CHECK(on_device("simdevice: 1\n", [] {
          return in_child([] {
            const at::Tensor w = device({1, 2}, {1, 2}).requires_grad_(true);
            at::linear(device({3, 4}, {1, 2}), w).sum().backward();
            return show(w.grad());
          });
        }) == "3 4");
}
