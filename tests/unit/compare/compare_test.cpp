#include "lib/compare/compare.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/unit/compare/support.h"

using namespace opreplay;
using namespace opreplay::test;

namespace {

constexpr double k_inf = std::numeric_limits<double>::infinity();
constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();

Bound exact() {
  Bound bound;
  bound.exact = true;
  return bound;
}

bool has_note(const OutputComparison& c, const std::string& part) {
  for (const std::string& note : c.notes)
    if (note.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a correctly rounded result passes with tau 0, its neighbours do not") {
  // 1/3 in f16 is 0x3555 = 0.333251953125 (error 8.1e-5 against a half ulp of 1.22e-4).
  const Evidence e = vector_evidence(DType::f16, {1.0 / 3});
  const Bound none = flat_bound(1, 0);
  CHECK(passes(compared(e, none, {0.333251953125})));
  const OutputComparison above = compared(e, none, {0.33349609375});
  CHECK(above.bad == 1);
  CHECK(above.max_abs == Approx(0.33349609375 - 1.0 / 3));
  CHECK(above.max_rel == Approx((0.33349609375 - 1.0 / 3) * 3));
  CHECK(above.max_ulp == Approx((0.33349609375 - 1.0 / 3) / 0x1p-12));
  CHECK(above.worst_ratio == Approx((0.33349609375 - 1.0 / 3) / 0x1p-13));
  CHECK(compared(e, none, {0.3330078125}).bad == 1);
}

TEST_CASE("the half ulp is that of |r| + tau, across a power of two") {
  // r = 2 - 2^-24; f32 spacing 2^-23 below 2, 2^-22 above. y = 2 + 2^-22 errs by 5 * 2^-24: just
  // inside tau = 3 * 2^-24 plus half of 2^-22, outside tau plus half of 2^-23.
  const Evidence e = vector_evidence(DType::f32, {2 - 0x1p-24});
  CHECK(passes(compared(e, flat_bound(1, 0x3p-24), {2 + 0x1p-22})));
  CHECK(compared(e, flat_bound(1, 0x2.ffp-24), {2 + 0x1p-22}).bad == 1);
  CHECK(compared(e, flat_bound(1, 0), {2 + 0x1p-22}).worst_ratio == Approx(5));
}

TEST_CASE("one NaN among 2,048 elements is enough") {
  std::vector<double> values(2048, 1.0);
  const Evidence e = vector_evidence(DType::f32, values);
  values[1234] = k_nan;
  const OutputComparison c = compared(e, flat_bound(2048, 1), values);
  CHECK(c.classes.nan == 1);
  CHECK(c.bad == 0);
  CHECK(c.nan_share == Approx(1.0 / 2048));
  REQUIRE(!c.worst.empty());
  CHECK(c.worst[0].index == std::vector<std::int64_t>{1234});
}

TEST_CASE("NaN, infinities and their signs must agree") {
  const Evidence e = vector_evidence(DType::f16, {k_nan, k_inf, -k_inf, 1, k_inf});
  const Bound bound = flat_bound(5, 0);
  CHECK(passes(compared(e, bound, {k_nan, k_inf, -k_inf, 1, k_inf})));
  const OutputComparison c = compared(e, bound, {0, -k_inf, -65504, k_inf, k_nan});
  CHECK(c.classes.nan == 2);
  CHECK(c.classes.inf == 3);  // -Inf for Inf, -65504 where -inf, Inf where 1
  CHECK(c.bad == 0);
  CHECK(c.worst.size() == 5);
}

TEST_CASE("overflow is allowed where the bound reaches it") {
  // 65519 rounds to 65504; 65520 is the first to round to infinity.
  const Evidence e = vector_evidence(DType::f16, {65519, -65519});
  const OutputComparison near = compared(e, flat_bound(2, 1), {k_inf, -k_inf});
  CHECK(passes(near));
  CHECK(near.classes.allowed == 2);
  CHECK(has_note(near, "largest number"));
  CHECK(compared(e, flat_bound(2, 0.5), {k_inf, -65504}).classes.inf == 1);
  CHECK(compared(e, flat_bound(2, 1), {-k_inf, -65504}).classes.inf == 1);

  const Evidence over = vector_evidence(DType::f16, {65525});
  CHECK(passes(compared(over, flat_bound(1, 0), {k_inf})));
  CHECK(compared(over, flat_bound(1, 4), {65504}).classes.inf == 1);  // 21 > 16 + 4
  CHECK(compared(over, flat_bound(1, 16), {65504}).classes.allowed == 1);
}

TEST_CASE("growing intermediates may overflow above a 64th of the range where the rule says so") {
  Evidence e = vector_evidence(DType::f16, {2000, 1000});
  e.attributes["overflow"] = "intermediates";
  CHECK(passes(compared(e, flat_bound(2, 0), {k_inf, 1000})));
  CHECK(compared(e, flat_bound(2, 0), {2000, k_inf}).classes.inf == 1);  // 1000 < 65504/64
  e.attributes.clear();
  CHECK(compared(e, flat_bound(2, 0), {k_inf, 1000}).classes.inf == 1);
}

TEST_CASE("a format without infinity saturates or gives NaN") {
  const Evidence e = vector_evidence(DType::f8e4m3fn, {1000, -k_inf, k_nan, 464});
  CHECK(passes(compared(e, flat_bound(4, 0), {448, -448, k_nan, 448})));
  CHECK(passes(compared(e, flat_bound(4, 0), {k_nan, k_nan, k_nan, k_nan})));
  CHECK(compared(e, flat_bound(4, 0), {448, 448, k_nan, 448}).bad == 1);
  CHECK(compared(e, flat_bound(4, 0), {448, -448, 448, 448}).classes.nan == 1);
}

TEST_CASE("reductions over data that is not finite accept the CPU's class or the rounded one") {
  Bound bound = flat_bound(2, 0);
  const Evidence e = vector_evidence(DType::f32, {k_inf, 1});
  CHECK(compared(e, bound, {k_nan, 1}, {k_nan, 1}).classes.nan == 1);
  bound.reduction = true;
  const OutputComparison as_cpu = compared(e, bound, {k_nan, 1}, {k_nan, 1});
  CHECK(passes(as_cpu));
  CHECK(as_cpu.classes.allowed == 1);
  CHECK(has_note(as_cpu, "as the CPU's"));
  CHECK(passes(compared(e, bound, {k_inf, 1}, {k_nan, 1})));
  CHECK(compared(e, bound, {-k_inf, 1}, {k_nan, 1}).classes.inf == 1);
  CHECK(compared(e, bound, {k_inf, k_nan}, {k_nan, 1}).classes.nan == 1);  // there data is finite
}

TEST_CASE("partial sums beyond the accumulator may overflow, others may not") {
  Evidence e = vector_evidence(DType::f32, {3e38, 3e38});
  e.sum_abs = {9e38, 3e38};
  Bound bound = flat_bound(2, 1e32);
  bound.reduction = true;
  const OutputComparison c = compared(e, bound, {k_inf, 3e38}, {3e38, 3e38});
  CHECK(passes(c));
  CHECK(has_note(c, "partial sums"));
  CHECK(compared(e, bound, {3e38, k_inf}, {3e38, 3e38}).classes.inf == 1);
}

TEST_CASE("a sign of zero is a note") {
  const Evidence e = vector_evidence(DType::f32, {0.0, -0.0, 1e-60});
  const OutputComparison c = compared(e, flat_bound(3, 0), {-0.0, 0.0, 0.0});
  CHECK(passes(c));
  CHECK(c.classes.signed_zero == 2);
  CHECK(c.zero_share == 1);
}

TEST_CASE("worst elements: class differences first, then by ratio, with their place") {
  Evidence e = vector_evidence(DType::f32, {1, 1, 1, 1, 1, 1, 1, 1});
  e.reference.sizes = {2, 4};
  const OutputComparison c =
      compared(e, flat_bound(8, 0.25), {1, 1.5, 2, 1.125, k_nan, 9, 3, 1.0625});
  CHECK(c.bad == 4);
  REQUIRE(c.worst.size() == 5);
  using Index = std::vector<std::int64_t>;
  CHECK(c.worst[0].index == Index{1, 0});
  CHECK(c.worst[1].index == Index{1, 1});
  CHECK(c.worst[2].index == Index{1, 2});
  CHECK(c.worst[3].index == Index{0, 2});
  CHECK(c.worst[4].index == Index{0, 1});
  CHECK(c.worst[1].target == 9);
  CHECK(c.worst[1].reference == 1);
  CHECK(c.worst[1].bound == Approx(0.25).margin(1e-6));
  CHECK(c.worst_ratio == Approx(32).epsilon(1e-5));
}

TEST_CASE("a wider bound passes with its note") {
  Bound bound = flat_bound(2, 0.01);
  bound.tau_wider = {0.1, 0.1};
  bound.note_wider = "weak range reduction";
  const Evidence e = vector_evidence(DType::f32, {1, 1});
  const OutputComparison c = compared(e, bound, {1.05, 1});
  CHECK(passes(c));
  CHECK(c.notes == std::vector<std::string>{"weak range reduction"});
  CHECK(compared(e, bound, {1.2, 1.05}).bad == 1);
  CHECK(compared(e, bound, {1.005, 1}).notes.empty());
}

TEST_CASE("the mean of a row with an infinity is infinite or, by Welford's steps, NaN") {
  // torch 2.13, CPU: native_layer_norm of [inf, 1] gives mean NaN and rstd NaN; sum/n gives inf.
  Evidence e = vector_evidence(DType::f32, {k_nan, 3});
  e.attributes = {{"kind", "layer"}};
  e.scalars = {{"normalized_shape", {2}}, {"eps", {1e-5}}};
  e.inputs["input"] = {{2, 2}, {k_inf, 1, 2, 4}};
  const Bound mean = find_error_model("normalize")->bound(e);
  CHECK(passes(compared(e, mean, {k_nan, 3})));
  const OutputComparison c = compared(e, mean, {k_inf, 3});
  CHECK(passes(c));
  CHECK(c.notes == std::vector<std::string>{"class as another algorithm gives it"});
  CHECK(compared(e, mean, {-k_inf, 3}).classes.inf + compared(e, mean, {-k_inf, 3}).classes.nan ==
        1);
  CHECK(compared(e, mean, {7, 3}).classes.nan == 1);

  // The other row tells which statistic it is: 1/sqrt(1 + eps), bounded as such.
  e.reference.data = {k_nan, 1 / std::sqrt(1 + 1e-5)};
  const Bound deviation = find_error_model("normalize")->bound(e);
  CHECK(passes(compared(e, deviation, {k_nan, 0.999995f})));
  CHECK(!passes(compared(e, deviation, {k_inf, 0.999995f})));
}

TEST_CASE("a downgrade is the first lower format that explains every bad element") {
  Bound bound = flat_bound(3, 0.01);
  bound.downgrades = {{"10-bit mantissa inputs", {0.1, 0.1, 0.1}}, {"bf16 inputs", {1, 1, 1}}};
  const Evidence e = vector_evidence(DType::f32, {1, 2, 3});
  const OutputComparison first = compared(e, bound, {1.05, 2, 3});
  CHECK(first.bad == 1);
  CHECK(first.within_downgrade);
  CHECK(first.downgrade == "10-bit mantissa inputs");
  CHECK(compared(e, bound, {1.05, 2.5, 3}).downgrade == "bf16 inputs");
  CHECK(!compared(e, bound, {1.05, 2, 9}).within_downgrade);
  CHECK(!compared(e, bound, {1.05, k_nan, 3}).within_downgrade);  // a class is no precision
  CHECK(!compared(e, bound, {1, 2, 3}).within_downgrade);
}

TEST_CASE("the root mean square catches what every element hides") {
  const std::size_t n = 64;
  Bound bound = flat_bound(n, 10);
  bound.rms_scale.assign(n, 1);
  bound.rms_limit = 2;
  const Evidence e = vector_evidence(DType::f32, std::vector<double>(n, 100));
  CHECK(passes(compared(e, bound, std::vector<double>(n, 101.5))));
  const OutputComparison c = compared(e, bound, std::vector<double>(n, 103));
  CHECK(c.rms_ratio.value() == Approx(3));
  CHECK(c.bad == 64);
  CHECK(!c.within_downgrade);
  bound.downgrades = {{"10-bit mantissa inputs", std::vector<double>(n, 20)}};
  const OutputComparison lower = compared(e, bound, std::vector<double>(n, 103));
  CHECK(lower.within_downgrade);
  CHECK(lower.bad == 64);
}

TEST_CASE("exact outputs are compared bit by bit with the witness") {
  const Evidence e = vector_evidence(DType::i32, {1, 2, 3});
  CHECK(passes(compared(e, exact(), {1, 2, 3}, {1, 2, 3})));
  const OutputComparison c = compared(e, exact(), {1, 7, 3}, {1, 2, 3});
  CHECK(c.bad == 1);
  CHECK(c.max_abs == 5);
  CHECK(c.worst_ratio == k_inf);
  CHECK(compared(e, exact(), {1, 2, 4}).bad == 1);  // no witness: the reference

  Evidence wide = vector_evidence(DType::i64, {0x1p53});
  const std::int64_t got = (std::int64_t{1} << 53) + 1, expected = std::int64_t{1} << 53;
  const OutputComparison hidden = compare(wide, exact(), {std::as_bytes(std::span(&got, 1))},
                                          {std::as_bytes(std::span(&expected, 1))});
  CHECK(hidden.bad == 1);
}

TEST_CASE("exact floats: NaN payload ignored, signed zero a note, classes counted") {
  const Evidence e = vector_evidence(DType::f16, {k_nan, 0, 1, 2, k_inf});
  const std::vector<std::byte> witness = stored(DType::f16, {k_nan, 0, 1, 2, k_inf});
  std::vector<std::byte> target = witness;
  target[0] = std::byte{0x01};  // another payload
  target[3] = std::byte{0x80};  // -0
  OutputComparison c = compare(e, exact(), {target}, {witness});
  CHECK(passes(c));
  CHECK(c.classes.signed_zero == 1);
  target[4] = std::byte{0x01};  // the neighbour of 1
  c = compare(e, exact(), {target}, {witness});
  CHECK(c.bad == 1);
  CHECK(c.max_ulp == 1);
  CHECK(compared(e, exact(), {k_nan, 0, k_nan, 2, 65504}, {k_nan, 0, 1, 2, k_inf}).classes.nan ==
        1);
  CHECK(compared(e, exact(), {k_nan, 0, 1, 2, 65504}, {k_nan, 0, 1, 2, k_inf}).classes.inf == 1);
  // Without a witness the fp64 reference rounded to T decides: 1 + 2^-11 is a tie, to even.
  CHECK(passes(compared(vector_evidence(DType::f16, {1 + 0x1p-11}), exact(), {1})));
}

TEST_CASE("evidence is weak when the bound is loose for most elements") {
  const std::vector<double> r = {1, -1, 1, -1};
  CHECK(!compared(vector_evidence(DType::f32, r), flat_bound(4, 0x1p-8), r).weak_evidence);
  CHECK(compared(vector_evidence(DType::f32, r), flat_bound(4, 0x1p-6), r).weak_evidence);
  Bound half = flat_bound(4, 0);
  half.tau = {1, 1, 0, 0};
  CHECK(!compared(vector_evidence(DType::f32, r), half, r).weak_evidence);
  half.tau = {1, 1, 1, 0};
  CHECK(compared(vector_evidence(DType::f32, r), half, r).weak_evidence);
  CHECK(!compared(vector_evidence(DType::f32, {0}), flat_bound(1, 0x1p-126), {0}).weak_evidence);
}

TEST_CASE("evidence in bf16 is as strong as in f16 at the same number of roundings") {
  // |r| + rms r = 2, so 8 unit roundoffs allow 16 u_T: 2^-7 in f16, 2^-4 in bf16.
  const std::vector<double> r = {1, -1, 1, -1};
  for (const auto& [dtype, limit] : {std::pair{DType::f16, 0x1p-7}, {DType::bf16, 0x1p-4}}) {
    CHECK(!compared(vector_evidence(dtype, r), flat_bound(4, limit), r).weak_evidence);
    CHECK(compared(vector_evidence(dtype, r), flat_bound(4, 1.01 * limit), r).weak_evidence);
  }
}

TEST_CASE("evidence is weak when the reference says nothing though its inputs vary") {
  const auto weak = [](std::vector<double> reference, std::vector<double> input) {
    Evidence e = vector_evidence(DType::f32, reference);
    if (!input.empty()) e.inputs["self"] = {{static_cast<std::int64_t>(input.size())}, input};
    return compared(e, flat_bound(reference.size(), 0), reference).weak_evidence;
  };
  CHECK(weak({5, 5, 5}, {1, 2, 3}));
  CHECK(!weak({5, 5, 5}, {2, 2, 2}));
  CHECK(!weak({5, 5, 5}, {}));  // nothing is known of the inputs
  CHECK(!weak({5, 5, 6}, {1, 2, 3}));
  CHECK(!weak({5}, {1, 2, 3}));
  CHECK(weak({k_nan, k_inf}, {1, 1}));
  CHECK(!weak({k_nan, k_nan}, {k_nan, k_inf}));
}

TEST_CASE("complex outputs are compared by component") {
  Evidence e = vector_evidence(DType::c64, {1, 2, 3, 4});
  e.reference.sizes = {2, 2};
  const OutputComparison c = compared(e, flat_bound(4, 0), {1, 2, 3, 4.5});
  CHECK(c.bad == 1);
  CHECK(c.elements == 4);
  CHECK(c.worst.at(0).index == std::vector<std::int64_t>{1, 1});
}

TEST_CASE("an empty output is compared and passes") {
  const OutputComparison c = compared(vector_evidence(DType::f32, {}), flat_bound(0, 0), {});
  CHECK(c.compared);
  CHECK(passes(c));
  CHECK(!c.weak_evidence);
}

TEST_CASE("one wrong element among many is no downgrade") {
  Bound bound = flat_bound(64, 0.01);
  bound.downgrades = {{"bf16 inputs", std::vector<double>(64, 1)}};
  const Evidence e = vector_evidence(DType::f32, std::vector<double>(64, 8));
  std::vector<double> y(64, 8);
  y[7] = 8.5;
  CHECK(compared(e, bound, y).bad == 1);
  CHECK(!compared(e, bound, y).within_downgrade);
  y[8] = 8.5;
  CHECK(compared(e, bound, y).within_downgrade);
}
