// One test per reason of docs/verdicts.md. Exception texts are those that torch 2.13.0 raised in an
// interactive session, or that the named public report quotes.
#include "lib/judge/judge.h"

#include <catch2/catch.hpp>

#include "opreplay/error.h"
#include "tests/unit/judge/outcomes.h"

using namespace opreplay;
using namespace opreplay::testing;

TEST_CASE("a right result is a pass without a word") {
  const Verdict v = judge(right(), {});
  CHECK(v.status == Status::pass);
  CHECK(v.reason == Reason::none);
  CHECK(v.kind == Kind::none);
  CHECK(v.detail.empty());
  CHECK(v.notes.empty());
}

TEST_CASE("backend_not_loaded: torch does not know the device") {
  const Outcome o = target_raises(raised(
      ErrorClass::other, "PyTorch is not linked with support for vulkan devices", Stage::copy_in));
  CHECK(reason_of(o) == Reason::backend_not_loaded);
  CHECK(judge(o, {}).kind == Kind::environment);
}

TEST_CASE("infrastructure: the launcher was lost, the worker failed, the host was too small") {
  CHECK(reason_of(dies(Ending::lost, Stage::launch)) == Reason::infrastructure);
  CHECK(reason_of(dies(Ending::crashed, Stage::queued)) == Reason::infrastructure);
  CHECK(reason_of(dies(Ending::hung, Stage::compare)) == Reason::infrastructure);
  CHECK(reason_of(dies(Ending::exited, Stage::compare)) == Reason::infrastructure);
  CHECK(reason_of(dies(Ending::exited, Stage::launch)) == Reason::crash);

  Outcome small = right();
  small.reference64 = raised(ErrorClass::other,
                             "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: "
                             "can't allocate memory: you tried to allocate 140737488355328 bytes.",
                             Stage::reference);
  CHECK(reason_of(small) == Reason::infrastructure);
  CHECK(judge(small, {}).status == Status::pending);

  Outcome unknown;
  unknown.stage = Stage::inputs;
  unknown.reference = unknown.reference64 =
      raised(ErrorClass::not_implemented,
             "no loaded library registers the operator vendor.fused_mlp", Stage::inputs);
  CHECK(judge(unknown, {}).detail ==
        "reference: no loaded library registers the operator vendor.fused_mlp (raised at inputs)");

  Outcome unfinished = right();
  unfinished.stage = Stage::copy_back;
  CHECK(reason_of(unfinished) == Reason::infrastructure);
  Outcome silent = right();
  silent.outputs.clear();
  CHECK(reason_of(silent) == Reason::infrastructure);
}

TEST_CASE("not_run: an untouched outcome is never a pass") {
  CHECK(reason_of(Outcome{}) == Reason::not_run);
  CHECK(judge(Outcome{}, {}).status == Status::pending);
}

TEST_CASE("reference_crash: the process died before the target was touched") {
  Outcome o = dies(Ending::crashed, Stage::reference);
  o.signal = 11;
  const Verdict v = judge(o, {});
  CHECK(v.reason == Reason::reference_crash);
  CHECK(v.status == Status::pending);
  CHECK(v.detail == "reference (CPU): killed by signal 11 (SIGSEGV) at reference");
  CHECK(reason_of(dies(Ending::crashed, Stage::inputs)) == Reason::reference_crash);
  CHECK(reason_of(dies(Ending::hung, Stage::reference)) == Reason::reference_crash);
  CHECK(reason_of(dies(Ending::exited, Stage::reference)) == Reason::reference_crash);
}

TEST_CASE("invalid: the CPU rejects the call, whatever the target does") {
  const Raised empty_reduction =
      raised(ErrorClass::index,
             "amax(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
             "reduction dim with the 'dim' argument.",
             Stage::reference);
  Outcome both = target_raises(raised(ErrorClass::other, "empty"));
  both.reference = empty_reduction;
  CHECK(judge(both, {}).status == Status::invalid);
  CHECK(judge(both, {}).reason == Reason::none);

  Outcome accepted = right();
  accepted.reference = empty_reduction;
  CHECK(judge(accepted, {}).status == Status::invalid);

  SECTION("a dtype that only the CPU lacks is no rejection") {
    Outcome half = right();
    half.reference =
        raised(ErrorClass::not_implemented,
               "\"cholesky_inverse_out_cpu\" not implemented for 'Half'", Stage::reference);
    CHECK(judge(half, {}).status == Status::pass);
    // Some wider run served as reference, though not the fp64 one.
    half.reference64 = raised(ErrorClass::not_implemented, "\"x_cpu\" not implemented for 'Double'",
                              Stage::reference);
    CHECK(judge(half, {}).status == Status::pass);
    CHECK(judge(half, {.family_invalid = true}).status == Status::pass);
    // The target lacks it as well: its own affair where a model makes the call, nothing to learn
    // where only a variation does.
    Outcome neither =
        target_raises(raised(ErrorClass::not_implemented, "\"x_cuda\" not implemented for 'Half'"));
    neither.reference = half.reference;
    CHECK(judge(neither, {}).reason == Reason::unsupported_dtype);
    CHECK(judge(neither, {.workload = false}).status == Status::invalid);
    neither.target = raised(ErrorClass::other, "x: a check failed");
    CHECK(judge(neither, {.workload = false}).reason == Reason::rejected_input);
    // None did: the target was never asked.
    half.stage = Stage::reference;
    CHECK(judge(half, {}).status == Status::invalid);
    CHECK(judge(half, {.family_invalid = true}).status == Status::invalid);
  }
  SECTION("a missing fp64 kernel alone is no rejection") {
    Outcome quantised = right();
    quantised.reference64 =
        raised(ErrorClass::other, "expected scalar type Float", Stage::reference);
    CHECK(judge(quantised, {}).status == Status::pass);
  }
}

TEST_CASE("device_lost: the target no longer answers") {
  CHECK(reason_of(target_raises(
            raised(ErrorClass::accelerator, "vkQueueSubmit: VK_ERROR_DEVICE_LOST"))) ==
        Reason::device_lost);
  CHECK(reason_of(target_raises(raised(ErrorClass::accelerator, "error 719", Stage::copy_back))) ==
        Reason::device_lost);
  Outcome noted = right();
  noted.notes.push_back("device lost: a copy of 4 bytes after the case failed");
  CHECK(reason_of(noted) == Reason::device_lost);
}

TEST_CASE("crash: signal or exit on the target's side") {
  Outcome o = dies(Ending::crashed, Stage::launch);
  o.signal = 6;
  o.output_tail = "loading\nterminate called after throwing an instance of 'int'\n";
  const Verdict v = judge(o, {});
  CHECK(v.reason == Reason::crash);
  CHECK(v.status == Status::blocked);
  CHECK(v.detail ==
        "killed by signal 6 (SIGABRT) at launch: terminate called after throwing an instance of "
        "'int'");
  Outcome exits = dies(Ending::exited, Stage::synchronise);
  exits.exit_code = 3;
  CHECK(judge(exits, {}).reason == Reason::crash);
  CHECK(judge(exits, {}).detail == "process exited with code 3 at synchronise");
}

TEST_CASE("hang: no answer before the deadline") {
  const Verdict v = judge(dies(Ending::hung, Stage::synchronise), {});
  CHECK(v.reason == Reason::hang);
  CHECK(v.detail == "no answer before the deadline at synchronise");
}

TEST_CASE("out_of_memory: by class or by text") {
  CHECK(reason_of(target_raises(raised(ErrorClass::out_of_memory, "no room"))) ==
        Reason::out_of_memory);
  CHECK(reason_of(target_raises(raised(ErrorClass::accelerator, "CUDA error: out of memory"))) ==
        Reason::out_of_memory);
}

TEST_CASE("no_kernel: the dispatcher or the table says so") {
  const Outcome o = target_raises(raised(
      ErrorClass::not_implemented,
      "Could not run 'aten::silu.out' with arguments from the 'PrivateUse1' backend. This could be "
      "because the operator doesn't exist for this backend, or was omitted during the "
      "selective/custom build process (if using custom build)."));
  const Verdict v = judge(o, {});
  CHECK(v.reason == Reason::no_kernel);
  CHECK(v.kind == Kind::missing);
  CHECK(v.detail == "no kernel for aten::silu.out on PrivateUse1");

  Outcome table = target_raises(raised(ErrorClass::other, "vendor text"));
  table.kernel = "missing";
  CHECK(reason_of(table) == Reason::no_kernel);
  // Served without an entry of its own, by a composite or a fallback: the result counts.
  Outcome served = right();
  served.kernel = "missing";
  CHECK(judge(served, {}).status == Status::pass);
}

TEST_CASE("unsupported_*: the device's own text or the profile's pattern names what") {
  CHECK(reason_of(target_raises(
            raised(ErrorClass::not_implemented, "\"geqrf_cpu\" not implemented for 'BFloat16'"))) ==
        Reason::unsupported_dtype);
  CHECK(reason_of(
            target_raises(raised(ErrorClass::other, "Boolean inputs not supported for relu"))) ==
        Reason::unsupported_dtype);
  CHECK(reason_of(target_raises(raised(ErrorClass::other, "unsupported tensor layout: Mkldnn"))) ==
        Reason::unsupported_layout);
  CHECK(reason_of(target_raises(raised(ErrorClass::other, "sum: rank 6 is not supported"))) ==
        Reason::unsupported_shape);

  const Outcome vendor = target_raises(raised(ErrorClass::other, "EZ1001: stride of x is odd"));
  CHECK(reason_of(vendor) == Reason::rejected_input);
  JudgeContext profile;
  profile.unsupported_patterns = {"^EZ\\d+"};
  CHECK(reason_of(vendor, profile) == Reason::unsupported_layout);
  CHECK(judge(vendor, profile).kind == Kind::input_unmet);
}

TEST_CASE("a pattern that is no regular expression is the profile's error, by name") {
  JudgeContext profile;
  profile.unsupported_patterns = {"EZ("};
  const Outcome o = target_raises(raised(ErrorClass::other, "any"));
  try {
    judge(o, profile);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::invalid_input);
    CHECK(std::string(error.what()).find("'EZ('") != std::string::npos);
  }
}

TEST_CASE("device_error: class, profile pattern, or raised at synchronise") {
  CHECK(reason_of(target_raises(raised(ErrorClass::accelerator, "device-side assert triggered"))) ==
        Reason::device_error);
  const Outcome async = target_raises(raised(
      ErrorClass::other, "ACL stream synchronize failed, error code:507035", Stage::synchronise));
  CHECK(reason_of(async) == Reason::device_error);
  CHECK(judge(async, {}).detail ==
        "ACL stream synchronize failed, error code:507035 (raised at synchronise)");
  const Outcome plain = target_raises(raised(ErrorClass::other, "musa runtime: code 7"));
  CHECK(reason_of(plain) == Reason::rejected_input);
  JudgeContext profile;
  profile.error_patterns = {"runtime: code [0-9]+"};
  CHECK(reason_of(plain, profile) == Reason::device_error);
}

TEST_CASE("rejected_input: any other exception; first line only") {
  // intel/torch-xpu-ops#5272
  const Outcome o = target_raises(
      raised(ErrorClass::other, "\ndout must have contiguous last dim\nException raised from x"));
  const Verdict v = judge(o, {});
  CHECK(v.reason == Reason::rejected_input);
  CHECK(v.detail == "dout must have contiguous last dim");
}

TEST_CASE("accepted_invalid: only in the family of invalid calls") {
  Outcome o = right();
  o.reference = raised(ErrorClass::other, "self must be a matrix", Stage::reference);
  CHECK(reason_of(o, {.workload = false, .family_invalid = true}) == Reason::accepted_invalid);
  CHECK(judge(o, {.workload = false}).status == Status::invalid);
  o.stage = Stage::reference;  // the target was never asked
  CHECK(judge(o, {.workload = false, .family_invalid = true}).status == Status::invalid);
  o.stage = Stage::launch;
  o.target = raised(ErrorClass::other, "not a matrix");
  CHECK(judge(o, {.workload = false, .family_invalid = true}).status == Status::invalid);
}

TEST_CASE("structure: device, number of outputs, shape, dtype") {
  Outcome device = right();
  device.outputs[0].device_got = "cpu";
  CHECK(reason_of(device) == Reason::wrong_device);
  CHECK(judge(device, {}).detail == "device expected privateuseone:0, got cpu");
  Outcome shape = right();
  shape.outputs[0].shape_got = "[2,3,4]";
  CHECK(reason_of(shape) == Reason::wrong_shape);
  CHECK(judge(shape, {}).detail == "shape expected [2,3,4,5], got [2,3,4]");
  Outcome count = right();
  count.outputs_expected = 2;
  CHECK(reason_of(count) == Reason::wrong_shape);
  CHECK(judge(count, {}).detail == "2 outputs expected, got 1");
  Outcome dtype = right();
  dtype.outputs[0].dtype_got = "f16";
  CHECK(reason_of(dtype) == Reason::wrong_dtype);
  CHECK(judge(dtype, {}).kind == Kind::wrong_result);
}

TEST_CASE("contract: guards, inputs, aliases, unwritten outputs") {
  Outcome guard = right();
  guard.out_of_bounds = {"self", "out"};
  CHECK(reason_of(guard) == Reason::out_of_bounds_write);
  CHECK(judge(guard, {}).detail == "bytes beside self, out were overwritten");
  Outcome input = right();
  input.inputs_modified = {"other"};
  CHECK(reason_of(input) == Reason::input_modified);
  Outcome alias = right();
  alias.alias_differences = {"out shares self on the CPU, not on the target"};
  CHECK(reason_of(alias) == Reason::wrong_alias);
  CHECK(judge(alias, {}).detail == "out shares self on the CPU, not on the target");
  Outcome unwritten = right();
  unwritten.outputs[0].unwritten = true;
  CHECK(reason_of(unwritten) == Reason::unwritten_output);
}

TEST_CASE("no_rule: where nothing could be compared, unless something sharper happened") {
  const JudgeContext unknown{.has_rule = false};
  Outcome random = right();
  random.outputs[0].compared = false;
  random.outputs[0].model.clear();
  random.evidence = "two runs on the CPU differ";
  CHECK(reason_of(random, unknown) == Reason::no_rule);
  CHECK(judge(random, unknown).detail.ends_with("judge it: two runs on the CPU differ"));
  CHECK(reason_of(random) == Reason::reference_suspect);
  // What the worker judged by its general model is judged.
  CHECK(judge(right(), unknown).status == Status::pass);
  CHECK(reason_of(wrong_value(), unknown) == Reason::wrong_value);
  Outcome shape = right();
  shape.outputs[0].shape_got = "[1]";
  CHECK(reason_of(shape, unknown) == Reason::wrong_shape);
  CHECK(reason_of(dies(Ending::crashed, Stage::launch), unknown) == Reason::crash);
  CHECK(reason_of(target_raises(raised(ErrorClass::accelerator, "x")), unknown) ==
        Reason::device_error);
}

TEST_CASE("undefined_by_spec: reported where results differ, silent where they agree") {
  Outcome o = wrong_class();
  o.outputs[0].notes = {"undefined by spec: float to int out of range"};
  CHECK(reason_of(o) == Reason::undefined_by_spec);
  CHECK(judge(o, {}).status == Status::pending);
  Outcome agrees = right();
  agrees.notes = {"undefined by spec: float to int out of range"};
  CHECK(judge(agrees, {}).status == Status::pass);
  CHECK(judge(agrees, {}).notes.size() == 1);
}

TEST_CASE("reference_suspect: both wrong alike, declared so, or no evidence") {
  Outcome both = wrong_class();
  both.witness.class_ok = false;
  CHECK(reason_of(both) == Reason::reference_suspect);
  both.witness.alike = false;
  CHECK(reason_of(both) == Reason::wrong_class);

  Outcome values = wrong_value();
  values.witness.value_ok = false;
  CHECK(reason_of(values) == Reason::reference_suspect);
  // The CPU's classes are wrong, the target's only in value: not alike.
  Outcome mixed = wrong_value();
  mixed.witness.class_ok = false;
  CHECK(reason_of(mixed) == Reason::wrong_value);
  values.witness.ran = false;
  CHECK(reason_of(values) == Reason::wrong_value);

  Outcome declared = wrong_class();
  declared.outputs[0].notes = {"reference suspect: silu(-inf), formula nan, limit 0"};
  CHECK(reason_of(declared) == Reason::reference_suspect);

  Outcome none = right();
  none.outputs[0].compared = false;
  none.outputs[0].model.clear();
  none.evidence = "no fp64 kernel";
  CHECK(reason_of(none) == Reason::reference_suspect);
  CHECK(judge(none, {}).detail == "no evidence: no fp64 kernel");
  // A gradient that was not asked for.
  none.outputs[0].shape_expected = none.outputs[0].shape_got = "none";
  CHECK(judge(none, {}).status == Status::pass);
}

TEST_CASE("wrong_class and wrong_value say which element") {
  CHECK(judge(wrong_class(), {}).detail ==
        "NaN expected at 1 of 120 elements (element [0,0,0,0]: target 0, reference nan)");
  const Verdict v = judge(wrong_value(), {});
  CHECK(v.reason == Reason::wrong_value);
  CHECK(v.detail ==
        "3 of 120 elements outside the bound (element [1,0,2,4]: target 1.5, reference 1.25, "
        "allowed difference 0.0145), error/bound 17.2");
}

TEST_CASE("a finding names its output where there are several") {
  Outcome o = wrong_class();
  o.outputs[0].name = "out1";
  o.outputs.insert(o.outputs.begin(), right().outputs[0]);
  o.outputs_expected = o.outputs_got = 2;
  CHECK(judge(o, {}).detail.starts_with("out1: NaN expected"));
}

TEST_CASE("cpu_fallback: right, but not on the target") {
  Outcome o = right();
  o.cpu_fallback = true;
  o.fallback_evidence = "aten::_to_cpu inside aten::silu";
  const Verdict v = judge(o, {});
  CHECK(v.status == Status::substitute);
  CHECK(v.reason == Reason::cpu_fallback);
  CHECK(v.detail == "aten::_to_cpu inside aten::silu");
}

TEST_CASE("precision_downgrade: a substitute, or a pass where the profile allows the format") {
  const Verdict v = judge(downgraded(), {});
  CHECK(v.status == Status::substitute);
  CHECK(v.reason == Reason::precision_downgrade);
  JudgeContext tf32;
  tf32.allow = {"tf32"};
  const Verdict allowed = judge(downgraded(), tf32);
  CHECK(allowed.status == Status::pass);
  CHECK(allowed.notes ==
        std::vector<std::string>{"10-bit mantissa inputs, which the profile allows"});
  Outcome lower = downgraded();
  lower.outputs[0].downgrade = "bf16 inputs";
  CHECK(reason_of(lower, tf32) == Reason::precision_downgrade);
  CHECK(reason_of(lower, {.allow = {"bf16"}}) == Reason::none);
  lower.outputs[0].downgrade = "bf16 arithmetic";  // results are rounded as well
  CHECK(reason_of(lower, {.allow = {"bf16"}}) == Reason::precision_downgrade);
  lower.outputs[0].downgrade = "accumulation in f16";
  CHECK(reason_of(lower, {.allow = {"tf32", "bf16"}}) == Reason::precision_downgrade);
  CHECK(reason_of(lower, {.allow = {"accumulation"}}) == Reason::none);
}

TEST_CASE("evidence_weak: pending on workload cases, a note on edge cases") {
  Outcome o = right();
  o.outputs[0].weak_evidence = true;
  CHECK(reason_of(o) == Reason::evidence_weak);
  const Verdict edge = judge(o, {.workload = false});
  CHECK(edge.status == Status::pass);
  CHECK(edge.notes == std::vector<std::string>{"evidence weak"});
  Outcome nothing = right();
  nothing.outputs.clear();
  nothing.outputs_expected = nothing.outputs_got = 0;
  CHECK(reason_of(nothing) == Reason::evidence_weak);
}

TEST_CASE("notes tell what is no fault") {
  Outcome o = right();
  o.outputs[0].classes.signed_zero = 2;
  o.outputs[0].strides_differ = true;
  o.outputs[0].notes = {"weak range reduction"};
  o.witness.value_ok = false;
  o.notes = {"not bitwise repeatable"};
  const Verdict v = judge(o, {});
  CHECK(v.status == Status::pass);
  CHECK(v.notes == std::vector<std::string>{"not bitwise repeatable", "weak range reduction",
                                            "signed zero", "strides differ",
                                            "CPU inaccurate here"});
}

TEST_CASE("an object takes its worst required case; nothing required is pending") {
  CHECK(roll_up({}) == Status::pending);
  CHECK(roll_up({Status::invalid}) == Status::pending);
  CHECK(roll_up({Status::pass, Status::invalid}) == Status::pass);
  CHECK(roll_up({Status::pass, Status::substitute}) == Status::substitute);
  CHECK(roll_up({Status::substitute, Status::pending, Status::pass}) == Status::pending);
  CHECK(roll_up({Status::pending, Status::blocked}) == Status::blocked);
}
