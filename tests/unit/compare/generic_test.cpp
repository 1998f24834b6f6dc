#include <catch2/catch.hpp>
#include <cmath>

#include "lib/compare/models.h"
#include "opreplay/error.h"
#include "tests/unit/compare/support.h"

// The model `generic`: L*sqrt(max(Kf,3)/3)*(u|r| + 2s) + 2^-126 with s at least 0.3 of its row's
// root mean square; in half + L*s_T + u_T|r| with a note. Expected numbers: the formula in Python
// (math.sqrt, math.log), in units of u = 2^-24 and u_T = 2^-11.

using namespace opreplay;
using namespace opreplay::test;

namespace {

Bound bound_of(const Evidence& evidence) { return find_error_model("generic")->bound(evidence); }

Evidence sample(DType dtype) {
  Evidence e;
  e.dtype = dtype;
  e.reference.sizes = {2, 2};
  e.reference.data = {1, -2, 0, 4};
  e.staged.gain = {3, 0, 2, 1};
  e.staged.fan_in = 12;
  return e;
}

}  // namespace

TEST_CASE("generic: the bound grows with the measured spread and fan-in") {
  const Bound bound = bound_of(sample(DType::f32));
  const double expected[] = {94.54449371815097, 44.203497453402605, 54.025424981800555,
                             81.03813747270084};
  REQUIRE(bound.tau.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(bound.tau[i] / 0x1p-24 == Approx(expected[i]));
  CHECK(bound.tau_wider.empty());
}

TEST_CASE("generic: an element is never trusted below three terms") {
  Evidence few = sample(DType::f32), three = few;
  few.staged.fan_in = 0.5;
  three.staged.fan_in = 3;
  CHECK(bound_of(few).tau == bound_of(three).tau);
}

TEST_CASE("generic: in half precision, intermediates rounded to T pass with a note") {
  Evidence e = sample(DType::f16);
  e.staged.gain_narrow = e.staged.gain;
  const Bound bound = bound_of(e);
  const double expected[] = {21.27113647922479, 6.303153210529562, 13.513012181116862,
                             10.76313150864703};
  for (std::size_t i = 0; i < 4; ++i) CHECK(bound.tau_wider[i] / 0x1p-11 == Approx(expected[i]));

  // 1 + 16 u_T: outside tau, inside the wider bound; 1 + 64 u_T: outside both.
  const OutputComparison rounded = compared(e, bound, {1 + 16 * 0x1p-11, -2, 0, 4});
  CHECK(passes(rounded));
  CHECK(rounded.notes == std::vector<std::string>{"T-rounded intermediates"});
  CHECK(compared(e, bound, {1 + 64 * 0x1p-11, -2, 0, 4}).bad == 1);
  CHECK(compared(e, bound, {1, -2, 0, 4}).notes.empty());
}

TEST_CASE("generic: staged runs of another shape are an internal error") {
  Evidence e = sample(DType::f32);
  e.staged.gain.pop_back();
  CHECK_THROWS_AS(bound_of(e), Error);
}

TEST_CASE("generic: integers are compared bit by bit") {
  CHECK(bound_of(sample(DType::i64)).exact);
}
