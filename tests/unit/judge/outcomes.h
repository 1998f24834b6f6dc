#pragma once
/// Outcomes built by hand for the tests of the rule table.

#include <limits>
#include <string>

#include "lib/judge/judge.h"
#include "opreplay/outcome.h"

namespace opreplay::testing {

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();

inline Raised raised(ErrorClass error_class, std::string message, Stage stage = Stage::launch) {
  return Raised{error_class, stage, std::move(message)};
}

/// aten.clamp on f32[2,3,4,5] that ran to the end and is right.
inline Outcome right() {
  Outcome o;
  o.stage = Stage::done;
  o.evidence = "fp64";
  o.kernel = "kernel";
  o.witness.ran = true;
  o.outputs_expected = o.outputs_got = 1;
  OutputComparison out;
  out.name = "out";
  out.shape_expected = out.shape_got = "[2,3,4,5]";
  out.dtype_expected = out.dtype_got = "f32";
  out.device_expected = out.device_got = "privateuseone:0";
  out.compared = true;
  out.model = "elementwise";
  out.elements = 120;
  o.outputs.push_back(out);
  return o;
}

inline Outcome target_raises(Raised what) {
  Outcome o = right();
  o.stage = what.stage;
  o.target = std::move(what);
  o.outputs.clear();
  o.outputs_got = 0;
  return o;
}

inline Outcome dies(Ending ending, Stage stage) {
  Outcome o;
  o.ending = ending;
  o.stage = stage;
  return o;
}

/// One NaN of the reference came out as 0.
inline Outcome wrong_class() {
  Outcome o = right();
  o.outputs[0].classes.nan = 1;
  o.outputs[0].worst.push_back({{0, 0, 0, 0}, 0, k_nan, 0});
  return o;
}

inline Outcome wrong_value() {
  Outcome o = right();
  o.outputs[0].bad = 3;
  o.outputs[0].worst_ratio = 17.25;
  o.outputs[0].worst.push_back({{1, 0, 2, 4}, 1.5, 1.25, 0.0145});
  return o;
}

/// Outside the bound, inside that of inputs with a 10-bit mantissa.
inline Outcome downgraded() {
  Outcome o = wrong_value();
  o.outputs[0].within_downgrade = true;
  o.outputs[0].downgrade = "10-bit mantissa inputs";
  return o;
}

inline Reason reason_of(const Outcome& o, const JudgeContext& context = {}) {
  return judge(o, context).reason;
}

}  // namespace opreplay::testing
