#include "lib/torch/staged.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <deque>

#include "lib/base/case_parser.h"
#include "lib/spec/schema_table.h"
#include "lib/torch/boxed_call.h"
#include "lib/torch/interception.h"
#include "opreplay/error.h"

// Staged runs: what they measure on operators whose answer follows from calculus by hand, and that
// they leave nothing behind.

using namespace opreplay;

namespace {

/// A case with its reference, as replay makes them.
class Prepared {
 public:
  explicit Prepared(const std::string& text, std::uint64_t seed = 0, Values values = {}) {
    request_.calls = parse_case(text, shipped_schemas()).calls;
    request_.seed = seed;
    request_.oracle.model = "generic";
    for_each_tensor(request_.calls.back(),
                    [&](const std::string&, TensorArg& tensor) { tensor.values = values; });
    operators_.push_back(find_operator(request_.calls.back().op).value());
    image_.emplace(request_, std::int64_t{1} << 30);
    job_.emplace(ReferenceJob{request_, operators_, *image_, find_error_model("generic")});
    job_->numbers = arithmetic_format(*image_);
    reference_ = compute_reference(*job_);
  }

  StagedRuns staged() const { return staged_runs(*job_, reference_); }
  const at::Tensor& wide() const { return reference_.outputs[0].wide; }

 private:
  ReplayRequest request_;
  std::vector<c10::OperatorHandle> operators_;
  std::optional<InputImage> image_;
  std::optional<ReferenceJob> job_;
  Reference reference_;
};

/// Mean over the elements of (gain / |r|)^2: the variance of the relative error in units of u^2.
double relative_variance(const Prepared& prepared, const std::vector<double>& gain) {
  const at::Tensor r = prepared.wide().contiguous();
  double sum = 0;
  for (std::size_t i = 0; i < gain.size(); ++i) {
    const double g = gain[i] / r.const_data_ptr<double>()[i];
    sum += g * g;
  }
  return sum / static_cast<double>(gain.size());
}

std::size_t changes_in(const std::string& op, std::vector<c10::IValue> stack) {
  std::size_t count = 0;
  const Interception interception([&](const at::Tensor&, bool) { ++count; });
  call_boxed(find_operator(op).value(), stack);
  return count;
}

}  // namespace

// A product of two operands is off by its own rounding and by both of theirs: variance 3 u^2. A
// square is x(1+d) twice and its own rounding: (2d)^2 + d^2 = 5 u^2.
TEST_CASE("staged runs move inputs and results, in-place ones too") {
  const Values positive{.dist = Dist::uniform, .low = 1, .high = 2};
  const Prepared product("aten.mul.Tensor(f32[64,64], f32[64,64])", 0, positive);
  CHECK(relative_variance(product, product.staged().outputs.at(0).gain) == Approx(3).epsilon(0.05));
  const Prepared in_place("aten.mul_.Tensor(f32[64,64], f32[64,64])", 0, positive);
  CHECK(relative_variance(in_place, in_place.staged().outputs.at(0).gain) ==
        Approx(3).epsilon(0.05));
  const Prepared square("aten.square(f32[64,64])", 0, positive);
  CHECK(relative_variance(square, square.staged().outputs.at(0).gain) == Approx(5).epsilon(0.05));
}

TEST_CASE("staged runs in f64 and for half precision count in the same units") {
  const Values positive{.dist = Dist::uniform, .low = 1, .high = 2};
  const Prepared f64("aten.mul.Tensor(f64[64,64], f64[64,64])", 0, positive);
  const StagedRuns in_f64 = f64.staged();
  CHECK(relative_variance(f64, in_f64.outputs.at(0).gain) == Approx(3).epsilon(0.05));
  CHECK(in_f64.outputs[0].gain_narrow.empty());
  const Prepared half("aten.mul.Tensor(bf16[64,64], bf16[64,64])", 0, positive);
  const StagedRuns in_half = half.staged();
  CHECK(relative_variance(half, in_half.outputs.at(0).gain) == Approx(3).epsilon(0.05));
  CHECK(relative_variance(half, in_half.outputs.at(0).gain_narrow) == Approx(3).epsilon(0.05));
}

// mm [4,8] x [8,5]: an element depends on 16 inputs. One of the first operand reaches 5 of the 20
// outputs, one of the second 4; with 72 inputs in all a probe says 18 or 14.4.
TEST_CASE("fan-in is how many inputs an output depends on") {
  const StagedRuns product = Prepared("aten.mm(f32[4,8], f32[8,5])").staged();
  CHECK(product.outputs.at(0).fan_in >= 14.4);
  CHECK(product.outputs.at(0).fan_in <= 18);
  const StagedRuns exp = Prepared("aten.exp(f32[4,8])").staged();
  CHECK(exp.outputs.at(0).fan_in == Approx(1));
}

TEST_CASE("the seed alone decides") {
  const std::string text = "aten.cosine_similarity(f32[8,16], f32[8,16])";
  const auto first = Prepared(text, 7).staged(), again = Prepared(text, 7).staged();
  CHECK(first.outputs.at(0).gain == again.outputs.at(0).gain);
  CHECK(first.outputs[0].fan_in == again.outputs[0].fan_in);
  const auto other = Prepared(text, 8).staged();
  CHECK(first.outputs[0].gain != other.outputs.at(0).gain);
}

TEST_CASE("every output and written argument is measured, integers are not") {
  const StagedRuns top = Prepared("aten.topk(f32[4,16], 3)").staged();
  REQUIRE(top.outputs.size() == 2);
  CHECK(top.outputs[0].gain.size() == 12);
  CHECK(top.outputs[1].gain.empty());
}

TEST_CASE("results that are random or were never written are no basis") {
  CHECK(Prepared("aten.rand_like(f32[64])").staged().problem.starts_with("two runs"));
  CHECK(Prepared("aten.empty_like(f32[64])").staged().problem.starts_with("two runs"));
  CHECK(Prepared("aten.new_empty(f32[64], [8])").staged().problem.starts_with("two runs"));
  CHECK(Prepared("aten.zeros_like(f32[64])").staged().problem.empty());
}

TEST_CASE("an interception sees what each operator computes or writes, and no views") {
  const at::Tensor x = at::ones({4, 4});
  CHECK(changes_in("aten.exp", {x}) == 1);
  CHECK(changes_in("aten.exp_", {x.clone()}) == 1);
  CHECK(changes_in("aten.t", {x}) == 0);
  CHECK(changes_in("aten.transpose_", {x.clone(), 0, 1}) == 0);
  // Written by neg_, and again by the operator over the list.
  CHECK(changes_in("aten._foreach_neg_", {c10::List<at::Tensor>({x.clone(), x.clone()})}) == 4);
  CHECK(changes_in("aten.ceil", {x}) == 0);
  CHECK(changes_in("aten.argmax", {x, c10::IValue(), false}) == 0);
  // The steps of a composite: a transposed view, then one product.
  CHECK(changes_in("aten.linear", {x, x, c10::IValue()}) == 1);
}

TEST_CASE(
    "an interception ends with its scope, also when the operator raises, and is never nested") {
  std::size_t count = 0;
  const auto counting = [&](const at::Tensor&, bool) { ++count; };
  const at::Tensor x = at::ones({4});
  {
    const Interception outer(counting);
    CHECK_THROWS_AS(Interception(counting), Error);
    x.exp();
    CHECK(count == 1);
  }
  x.exp();
  CHECK(count == 1);
  {
    const Interception again(counting);
    CHECK_THROWS(x.mm(x));
    x.exp();
  }
  CHECK(count == 2);
}
