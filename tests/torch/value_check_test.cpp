#include "lib/torch/value_check.h"

#include <catch2/catch.hpp>

#include "lib/base/case_parser.h"
#include "lib/base/numeric.h"
#include "lib/spec/schema_table.h"
#include "lib/torch/boxed_call.h"

// Results written by hand against a call on given values: which roundings of the call's numbers are
// accepted, and which are not. Right values: hand computation, binary digits in the comments.

using namespace opreplay;

namespace {

/// What the check says of `target` as the result of `call` on tensors that all hold `values`.
ValueResult judge(const std::string& call, std::vector<double> values, OracleRule oracle,
                  DType dtype, const std::vector<double>& target) {
  ReplayRequest request;
  request.calls = parse_case(call, shipped_schemas()).calls;
  for_each_tensor(request.calls.back(), [&](const std::string&, TensorArg& tensor) {
    tensor.values = Values{.kind = Values::Kind::data};
    const auto count = static_cast<std::size_t>(numel(tensor.desc).value());
    tensor.values->data.assign(values.end() - static_cast<std::ptrdiff_t>(count), values.end());
  });
  request.oracle = std::move(oracle);
  const InputImage image(request, 1 << 20);
  const std::vector<c10::OperatorHandle> operators = {
      find_operator(request.calls.back().op).value()};
  ReferenceJob job{request, operators, image};
  job.model = find_error_model(request.oracle.model);
  job.exact = request.oracle.model.starts_with("exact");
  job.numbers = arithmetic_format(image);
  const Reference reference = compute_reference(job);
  std::vector<std::byte> bytes(target.size() * size_of(dtype));
  for (std::size_t i = 0; i < target.size(); ++i)
    store_element(dtype, target[i], bytes.data() + i * size_of(dtype));
  return ValueCheck(job, reference).check(0, bytes, {});
}

bool passes(const ValueResult& result) {
  const OutputComparison& c = result.target;
  return c.bad == 0 && c.classes.nan == 0 && c.classes.inf == 0;
}

const OracleRule k_exact_sum{"elementwise", {{"kind", "exact"}}};
const OracleRule k_copy{"exact_copy", {}};

}  // namespace

// 1.1 is 1.1015625 in bf16. torch in Python: bf16(7 * 1.1) = 7.6875, bf16(7 * 1.1015625) = 7.71875;
// bf16(9 * 1.1) = 9.875, bf16(9 * 1.1015625) = 9.9375.
TEST_CASE("a number beside bf16 may be taken in f32 or in bf16, for the whole result") {
  for (const char* call : {"aten.mul.Tensor(bf16[2], 1.1)", "aten.mul.Scalar(bf16[2], 1.1)"}) {
    INFO(call);
    const auto product = [call](std::vector<double> target) {
      return judge(call, {7, 9}, k_exact_sum, DType::bf16, target);
    };
    CHECK(passes(product({7.6875, 9.875})));
    CHECK(product({7.6875, 9.875}).target.notes.empty());
    const ValueResult rounded = product({7.71875, 9.9375});
    CHECK(passes(rounded));
    CHECK(rounded.target.notes == std::vector<std::string>{"numbers rounded to bf16"});
    CHECK_FALSE(passes(product({7.6875, 9.9375})));
    CHECK_FALSE(passes(product({7.75, 10})));
  }
}

// 1.7 is 1.703125 in bf16. torch in Python: bf16(1.703125 * 1.7) = 2.890625, bf16(1.703125^2) =
// 2.90625; their neighbour below is 2.875.
TEST_CASE("so may an operand without dims of another dtype, on either side") {
  for (const char* call : {"aten.mul.Tensor(bf16[1], f32[])", "aten.mul.Tensor(f32[], bf16[1])",
                           "aten.mul.Tensor(bf16[1], f64[])"}) {
    INFO(call);
    const auto product = [call](double target) {
      return passes(judge(call, {1.7}, k_exact_sum, DType::bf16, {target}));
    };
    CHECK(product(2.890625));
    CHECK(product(2.90625));
    CHECK_FALSE(product(2.875));
  }
}

TEST_CASE("in f32 an operand without dims counts as f32") {
  // f32(1.7) = 1.7000000476837158; twice that is 3.4000000953674316. Unrounded: 3.4000000476837157,
  // which f32 rounds to its neighbour 3.3999998569488525 or to the former.
  const char* call = "aten.add.Tensor(f32[1], f64[])";
  CHECK(passes(judge(call, {1.7}, k_exact_sum, DType::f32, {3.4000000953674316})));
  CHECK_FALSE(passes(judge(call, {1.7}, k_exact_sum, DType::f32, {3.3999998569488525})));
}

TEST_CASE("comparisons take a number rounded or as it is") {
  // f32(0.1) = 0.100000001490116 is larger than 0.1, and no larger than its own rounding.
  for (const double answer : {0.0, 1.0})
    CHECK(passes(judge("aten.gt.Scalar(f32[1], 0.1)", {0.1}, k_copy, DType::boolean, {answer})));
  CHECK(passes(judge("aten.gt.Scalar(f32[1], 0.1)", {1}, k_copy, DType::boolean, {1})));
  CHECK_FALSE(passes(judge("aten.gt.Scalar(f32[1], 0.1)", {1}, k_copy, DType::boolean, {0})));
}

TEST_CASE("a cast may round once, or by way of f32 as the CPU does") {
  // 1 + 2^-11 + 2^-40 lies above the middle of 1 and 1 + 2^-10; in f32 it is the middle, and even
  // is 1.
  const auto cast = [](double target) {
    return passes(judge("aten._to_copy(f64[1], dtype=f16)", {1 + 0x1p-11 + 0x1p-40}, k_copy,
                        DType::f16, {target}));
  };
  CHECK(cast(1));
  CHECK(cast(1 + 0x1p-10));
  CHECK_FALSE(cast(1 + 0x1p-9));
}

TEST_CASE("a result that is no tensor is judged exactly") {
  const char* call = "aten.equal(f32[2], f32[2])";
  CHECK(passes(judge(call, {1, 2}, k_copy, DType::boolean, {1})));
  CHECK_FALSE(passes(judge(call, {1, 2}, k_copy, DType::boolean, {0})));
}
