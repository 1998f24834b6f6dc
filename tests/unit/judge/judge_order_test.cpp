// The order of docs/design.md "Verdicts": an outcome to which several rows apply gets the first.
#include <catch2/catch.hpp>

#include "tests/unit/judge/outcomes.h"

using namespace opreplay;
using namespace opreplay::testing;

TEST_CASE("every fault of a finished run, taken away in the design's order") {
  // All faults that can stand side by side in one finished outcome, sharpest first.
  Outcome o = wrong_class();
  o.outputs[0].bad = 3;
  o.outputs[0].device_got = "cpu";
  o.outputs[0].shape_got = "[]";
  o.outputs[0].dtype_got = "f16";
  o.outputs[0].unwritten = true;
  o.outputs[0].weak_evidence = true;
  o.out_of_bounds = {"self"};
  o.inputs_modified = {"self"};
  o.alias_differences = {"out"};
  o.cpu_fallback = true;
  o.witness.class_ok = false;
  o.notes = {"device lost: no answer", "undefined by spec: ties"};
  o.target = raised(ErrorClass::accelerator, "out of memory");

  CHECK(reason_of(o) == Reason::device_lost);
  o.notes.erase(o.notes.begin());
  CHECK(reason_of(o) == Reason::out_of_memory);
  o.target->message = "Could not run 'aten::x' with arguments from the 'PrivateUse1' backend";
  CHECK(reason_of(o) == Reason::no_kernel);
  o.target->message = "dtype Half and stride not supported for rank 3";
  CHECK(reason_of(o) == Reason::unsupported_dtype);
  o.target->message = "strides not supported for rank 3";
  CHECK(reason_of(o) == Reason::unsupported_layout);
  o.target->message = "rank 3 not supported";
  CHECK(reason_of(o) == Reason::unsupported_shape);
  o.target->message = "anything";
  CHECK(reason_of(o) == Reason::device_error);
  o.target->error_class = ErrorClass::other;
  CHECK(reason_of(o) == Reason::rejected_input);
  o.target.reset();
  CHECK(reason_of(o) == Reason::wrong_device);
  o.outputs[0].device_got = o.outputs[0].device_expected;
  CHECK(reason_of(o) == Reason::wrong_shape);
  o.outputs[0].shape_got = o.outputs[0].shape_expected;
  CHECK(reason_of(o) == Reason::wrong_dtype);
  o.outputs[0].dtype_got = o.outputs[0].dtype_expected;
  CHECK(reason_of(o) == Reason::out_of_bounds_write);
  o.out_of_bounds.clear();
  CHECK(reason_of(o) == Reason::input_modified);
  o.inputs_modified.clear();
  CHECK(reason_of(o) == Reason::wrong_alias);
  o.alias_differences.clear();
  CHECK(reason_of(o) == Reason::unwritten_output);
  o.outputs[0].unwritten = false;
  Outcome uncompared = o;
  uncompared.outputs[0].compared = false;
  uncompared.outputs[0].model.clear();
  CHECK(reason_of(uncompared, {.has_rule = false}) == Reason::no_rule);
  CHECK(reason_of(o) == Reason::undefined_by_spec);
  o.notes.clear();
  CHECK(reason_of(o) == Reason::reference_suspect);
  o.witness.class_ok = true;
  CHECK(reason_of(o) == Reason::wrong_class);
  o.outputs[0].classes.nan = 0;
  CHECK(reason_of(o) == Reason::wrong_value);
  o.outputs[0].within_downgrade = true;
  CHECK(reason_of(o) == Reason::cpu_fallback);
  o.cpu_fallback = false;
  CHECK(reason_of(o) == Reason::precision_downgrade);
  o.outputs[0].bad = 0;
  o.outputs[0].within_downgrade = false;
  CHECK(reason_of(o) == Reason::evidence_weak);
  o.outputs[0].weak_evidence = false;
  CHECK(judge(o, {}).status == Status::pass);
}

TEST_CASE("a process that died is judged before anything it left behind") {
  Outcome o = wrong_value();
  o.ending = Ending::crashed;
  o.signal = 11;
  o.stage = Stage::launch;
  o.target = raised(ErrorClass::not_implemented,
                    "Could not run 'aten::x' with arguments from the 'PrivateUse1' backend");
  CHECK(reason_of(o) == Reason::crash);
  o.ending = Ending::hung;
  CHECK(reason_of(o) == Reason::hang);
  o.stage = Stage::reference;
  CHECK(reason_of(o) == Reason::reference_crash);
  o.stage = Stage::launch;
  o.notes = {"device lost: no answer"};
  CHECK(reason_of(o) == Reason::device_lost);
  o.reference = raised(ErrorClass::other, "expected a matrix", Stage::reference);
  CHECK(judge(o, {}).status == Status::invalid);
  o.target = raised(ErrorClass::other, "Cannot access accelerator device when none is available.");
  CHECK(reason_of(o) == Reason::backend_not_loaded);
}

TEST_CASE("a downgrade in one output does not soften a wrong value in another") {
  Outcome o = downgraded();
  o.outputs.push_back(wrong_value().outputs[0]);
  o.outputs_expected = o.outputs_got = 2;
  CHECK(reason_of(o) == Reason::wrong_value);
}
