#include "lib/judge/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/judge/describe.h"
#include "lib/judge/messages.h"

// The rule table. Each row asks one question of the outcome; the first row that says yes decides.
// docs/verdicts.md explains every row to users; keep both in the same order.

namespace opreplay {
namespace {

struct Facts {
  const Outcome& outcome;
  const JudgeContext& context;
};

using Output = OutputComparison;

template <class Predicate>
const Output* find_output(const Facts& f, Predicate predicate) {
  const auto& outputs = f.outcome.outputs;
  const auto it = std::find_if(outputs.begin(), outputs.end(), predicate);
  return it == outputs.end() ? nullptr : &*it;
}

/// "out1: text" where there are several outputs, else "text".
std::string of_output(const Facts& f, const Output& output, const std::string& text) {
  return f.outcome.outputs.size() > 1 ? output.name + ": " + text : text;
}

/// The first note that begins with `prefix`, of the outcome or of an output; empty if none does.
std::string note_text(const Facts& f, std::string_view prefix) {
  const auto search = [&](const std::vector<std::string>& notes) -> std::string {
    for (const std::string& note : notes)
      if (note.starts_with(prefix)) return note;
    return {};
  };
  std::string text = search(f.outcome.notes);
  for (const Output& output : f.outcome.outputs)
    if (text.empty()) text = search(output.notes);
  return text;
}

bool died(const Outcome& o) { return o.ending == Ending::crashed || o.ending == Ending::exited; }
bool on_reference_side(Stage s) { return s == Stage::inputs || s == Stage::reference; }
bool on_target_side(Stage s) { return s >= Stage::copy_in; }

bool target_raised(const Facts& f) { return f.outcome.target.has_value(); }
std::string target_text(const Facts& f) { return raised_text(*f.outcome.target); }

/// A reference, of whatever precision, was there: the worker goes on to the target only then.
bool reached_target(const Facts& f) { return on_target_side(f.outcome.stage); }

/// The CPU refuses the call itself. "not implemented for 'Half'" in T is no refusal while a run in
/// another precision stands; without memory nothing was decided.
bool reference_rejects(const Facts& f) {
  const auto& in_dtype = f.outcome.reference;
  if (!in_dtype || says_out_of_memory(*in_dtype)) return false;
  return !says_not_implemented_for(*in_dtype) || !reached_target(f);
}

// --- before anything ran on the target ---------------------------------------------------------

bool is_backend_not_loaded(const Facts& f) {
  return target_raised(f) && says_backend_not_loaded(*f.outcome.target);
}

/// What went wrong is neither the call's nor the target's doing.
bool is_infrastructure(const Facts& f) {
  const Outcome& o = f.outcome;
  if (o.ending == Ending::lost) return true;
  if (o.ending != Ending::answered && o.stage == Stage::queued) return true;
  // Comparing is the host's work: too slow, too small, or wrong, but not the target.
  if (o.ending != Ending::answered && o.stage == Stage::compare) return true;
  const auto not_the_calls_fault = [](const std::optional<Raised>& raised) {
    return raised && (says_out_of_memory(*raised) || raised->stage == Stage::inputs);
  };
  return not_the_calls_fault(o.reference) || not_the_calls_fault(o.reference64);
}
std::string infrastructure_text(const Facts& f) {
  const Outcome& o = f.outcome;
  if (o.ending != Ending::answered) return ending_text(o);
  return "reference: " + raised_text(o.reference ? *o.reference : *o.reference64);
}

bool is_not_run(const Facts& f) {
  return f.outcome.ending == Ending::answered && f.outcome.stage == Stage::queued;
}

bool is_reference_crash(const Facts& f) {
  return f.outcome.ending != Ending::answered && on_reference_side(f.outcome.stage);
}
std::string reference_crash_text(const Facts& f) {
  return "reference (CPU): " + ending_text(f.outcome);
}

/// A variation in a dtype that neither side has the operator in says nothing of the target. A
/// model's own call does: it came from a device that has it.
bool both_lack_dtype(const Facts& f) {
  const auto& in_dtype = f.outcome.reference;
  return !f.context.workload && target_raised(f) && in_dtype &&
         says_not_implemented_for(*in_dtype) &&
         says_unsupported(*f.outcome.target, f.context.unsupported_patterns) == Unsupported::dtype;
}

/// A call meant to be rejected is judged only where the target got the chance to accept it.
bool is_invalid(const Facts& f) {
  if (both_lack_dtype(f)) return true;
  return reference_rejects(f) &&
         (target_raised(f) || !f.context.family_invalid || !reached_target(f));
}
std::string invalid_text(const Facts& f) {
  return "the CPU rejects the call: " + first_line(f.outcome.reference->message);
}

// --- the process, the device -------------------------------------------------------------------

bool is_device_lost(const Facts& f) {
  if (!note_text(f, k_note_device_lost).empty()) return true;
  if (!target_raised(f)) return false;
  const Raised& raised = *f.outcome.target;
  if (says_device_lost(raised)) return true;
  // Moving bytes before the operator, or after it synchronised cleanly: no operator to blame.
  return raised.error_class == ErrorClass::accelerator &&
         (raised.stage == Stage::copy_in || raised.stage == Stage::copy_back) &&
         !says_out_of_memory(raised);
}
std::string device_lost_text(const Facts& f) {
  return target_raised(f) ? target_text(f) : note_text(f, k_note_device_lost);
}

bool is_crash(const Facts& f) { return died(f.outcome) && on_target_side(f.outcome.stage); }
bool is_hang(const Facts& f) { return f.outcome.ending == Ending::hung; }
std::string death_text(const Facts& f) { return ending_text(f.outcome); }

bool is_out_of_memory(const Facts& f) {
  return target_raised(f) && says_out_of_memory(*f.outcome.target);
}

// --- exceptions of the target ------------------------------------------------------------------

bool is_no_kernel(const Facts& f) {
  return target_raised(f) && (f.outcome.kernel == "missing" || says_no_kernel(*f.outcome.target));
}
std::string no_kernel_text(const Facts& f) {
  const std::string missing = missing_kernel(f.outcome.target->message);
  return missing.empty() ? target_text(f) : "no kernel for " + missing;
}

template <Unsupported what>
bool is_unsupported(const Facts& f) {
  return target_raised(f) &&
         says_unsupported(*f.outcome.target, f.context.unsupported_patterns) == what;
}

bool is_device_error(const Facts& f) {
  if (!target_raised(f)) return false;
  const Raised& raised = *f.outcome.target;
  return raised.error_class == ErrorClass::accelerator || raised.stage == Stage::synchronise ||
         raised.stage == Stage::copy_back || matches_any(f.context.error_patterns, raised.message);
}

bool is_accepted_invalid(const Facts& f) {
  return f.context.family_invalid && reference_rejects(f) && f.outcome.stage == Stage::done;
}
std::string accepted_invalid_text(const Facts& f) {
  return "the target accepts what the CPU rejects: " + first_line(f.outcome.reference->message);
}

/// Nothing was raised, yet the worker did not get to the end or left results out.
bool is_incomplete(const Facts& f) {
  const Outcome& o = f.outcome;
  return o.stage != Stage::done || (o.outputs.empty() && o.outputs_got > 0);
}

// --- structure ---------------------------------------------------------------------------------

bool device_differs(const Output& o) { return o.device_expected != o.device_got; }
bool shape_differs(const Output& o) { return o.shape_expected != o.shape_got; }
bool dtype_differs(const Output& o) { return o.dtype_expected != o.dtype_got; }
bool is_unwritten(const Output& o) { return o.unwritten; }

std::string expected_got(std::string_view what, const std::string& expected,
                         const std::string& got) {
  return fmt::format("{} expected {}, got {}", what, expected, got);
}

bool is_wrong_device(const Facts& f) { return find_output(f, device_differs) != nullptr; }
std::string wrong_device_text(const Facts& f) {
  const Output& o = *find_output(f, device_differs);
  return of_output(f, o, expected_got("device", o.device_expected, o.device_got));
}

bool count_differs(const Facts& f) { return f.outcome.outputs_expected != f.outcome.outputs_got; }
bool is_wrong_shape(const Facts& f) {
  return count_differs(f) || find_output(f, shape_differs) != nullptr;
}
std::string wrong_shape_text(const Facts& f) {
  if (count_differs(f))
    return fmt::format("{} outputs expected, got {}", f.outcome.outputs_expected,
                       f.outcome.outputs_got);
  const Output& o = *find_output(f, shape_differs);
  return of_output(f, o, expected_got("shape", o.shape_expected, o.shape_got));
}

bool is_wrong_dtype(const Facts& f) { return find_output(f, dtype_differs) != nullptr; }
std::string wrong_dtype_text(const Facts& f) {
  const Output& o = *find_output(f, dtype_differs);
  return of_output(f, o, expected_got("dtype", o.dtype_expected, o.dtype_got));
}

bool is_out_of_bounds(const Facts& f) { return !f.outcome.out_of_bounds.empty(); }
std::string out_of_bounds_text(const Facts& f) {
  return fmt::format("bytes beside {} were overwritten", fmt::join(f.outcome.out_of_bounds, ", "));
}

bool is_input_modified(const Facts& f) { return !f.outcome.inputs_modified.empty(); }
std::string input_modified_text(const Facts& f) {
  return fmt::format("the target changed {}, the CPU does not",
                     fmt::join(f.outcome.inputs_modified, ", "));
}

bool is_wrong_alias(const Facts& f) { return !f.outcome.alias_differences.empty(); }
std::string wrong_alias_text(const Facts& f) {
  return fmt::format("{}", fmt::join(f.outcome.alias_differences, "; "));
}

bool is_unwritten_output(const Facts& f) { return find_output(f, is_unwritten) != nullptr; }
std::string unwritten_text(const Facts& f) {
  const Output& o = *find_output(f, is_unwritten);
  return of_output(f, o, "the target did not write (all of) the output");
}

// --- values ------------------------------------------------------------------------------------

bool class_wrong(const Output& o) { return o.classes.nan + o.classes.inf > 0; }
bool value_off(const Output& o) { return o.bad > 0; }
bool value_wrong(const Output& o) { return value_off(o) && !o.within_downgrade; }
bool any_class_wrong(const Facts& f) { return find_output(f, class_wrong) != nullptr; }
bool any_value_wrong(const Facts& f) { return find_output(f, value_wrong) != nullptr; }

/// An output that nothing was said of. "none" is an output that an op leaves undefined; a model
/// without a comparison says that metadata is all there is to compare.
bool is_undecided(const Output& o) {
  return !o.compared && o.model.empty() && o.shape_expected != "none";
}

/// Without a rule the worker tries the model `generic`; what it cannot judge stays uncompared.
bool is_no_rule(const Facts& f) {
  return !f.context.has_rule &&
         (f.outcome.outputs.empty() || find_output(f, is_undecided) != nullptr);
}
std::string no_rule_text(const Facts& f) {
  return "no rule for this operator, and no general way to judge it: " +
         (f.outcome.evidence.empty() ? std::string("nothing to compare") : f.outcome.evidence);
}

std::string difference_text(const Facts& f) {
  if (const Output* o = find_output(f, class_wrong))
    return of_output(f, *o, class_difference_text(*o));
  const Output* o = find_output(f, value_wrong);
  if (o == nullptr) o = find_output(f, value_off);
  return of_output(f, *o, value_difference_text(*o));
}

bool is_undefined(const Facts& f) {
  return (any_class_wrong(f) || any_value_wrong(f)) && !note_text(f, k_note_undefined).empty();
}
std::string undefined_text(const Facts& f) {
  return note_text(f, k_note_undefined) + "; " + difference_text(f);
}

bool both_wrong_alike(const Facts& f) {
  const Witness& w = f.outcome.witness;
  if (!w.ran || !w.alike) return false;
  return any_class_wrong(f) ? !w.class_ok : any_value_wrong(f) && !w.value_ok;
}
bool is_reference_suspect(const Facts& f) {
  if (find_output(f, is_undecided) != nullptr || both_wrong_alike(f)) return true;
  return (any_class_wrong(f) || any_value_wrong(f)) && !note_text(f, k_note_suspect).empty();
}
std::string reference_suspect_text(const Facts& f) {
  if (const Output* o = find_output(f, is_undecided))
    return of_output(
        f, *o,
        "no evidence: " +
            (f.outcome.evidence.empty() ? std::string("reference missing") : f.outcome.evidence));
  const std::string note = note_text(f, k_note_suspect);
  if (!note.empty()) return note + "; " + difference_text(f);
  return "target and CPU differ alike from the fp64 reference: " + difference_text(f);
}

// --- right, but ---------------------------------------------------------------------------------

bool is_cpu_fallback(const Facts& f) { return f.outcome.cpu_fallback; }
std::string fallback_text(const Facts& f) {
  return f.outcome.fallback_evidence.empty() ? "ran on the CPU" : f.outcome.fallback_evidence;
}

/// Profiles say `tf32`, comparisons "10-bit mantissa inputs": one format, two names.
bool format_allowed(const Facts& f, const Output& o) {
  return std::any_of(f.context.allow.begin(), f.context.allow.end(), [&](const std::string& word) {
    if (word == "tf32") return o.downgrade == "10-bit mantissa inputs";
    if (word == "bf16") return o.downgrade == "bf16 inputs";
    return o.downgrade.starts_with(word);
  });
}
bool is_downgraded(const Output& o) { return value_off(o) && o.within_downgrade; }
const Output* find_downgrade(const Facts& f, bool allowed) {
  return find_output(
      f, [&](const Output& o) { return is_downgraded(o) && format_allowed(f, o) == allowed; });
}
bool is_precision_downgrade(const Facts& f) { return find_downgrade(f, false) != nullptr; }
std::string precision_text(const Facts& f) {
  const Output& o = *find_downgrade(f, false);
  return of_output(f, o, "as precise as " + o.downgrade + ": " + value_difference_text(o));
}

bool is_weak(const Output& o) { return o.weak_evidence; }
bool is_evidence_weak(const Facts& f) {
  return f.context.workload && (f.outcome.outputs.empty() || find_output(f, is_weak) != nullptr);
}
std::string evidence_weak_text(const Facts& f) {
  if (f.outcome.outputs.empty()) return "the call returns and writes nothing that can be compared";
  return of_output(f, *find_output(f, is_weak),
                   "the bound is too loose, or the reference too uniform, to prove anything");
}

// --- the table ----------------------------------------------------------------------------------

struct Row {
  Reason reason;
  bool (*applies)(const Facts&);
  std::string (*detail)(const Facts&);
};

std::string no_detail(const Facts&) { return {}; }

/// Reason::none as a row stands for invalid; a pass is what no row claims.
constexpr std::array k_rows = {
    Row{Reason::backend_not_loaded, is_backend_not_loaded, target_text},
    Row{Reason::infrastructure, is_infrastructure, infrastructure_text},
    Row{Reason::not_run, is_not_run, no_detail},
    Row{Reason::reference_crash, is_reference_crash, reference_crash_text},
    Row{Reason::none, is_invalid, invalid_text},
    Row{Reason::device_lost, is_device_lost, device_lost_text},
    Row{Reason::crash, is_crash, death_text},
    Row{Reason::hang, is_hang, death_text},
    Row{Reason::out_of_memory, is_out_of_memory, target_text},
    Row{Reason::no_kernel, is_no_kernel, no_kernel_text},
    Row{Reason::unsupported_dtype, is_unsupported<Unsupported::dtype>, target_text},
    Row{Reason::unsupported_layout, is_unsupported<Unsupported::layout>, target_text},
    Row{Reason::unsupported_shape, is_unsupported<Unsupported::shape>, target_text},
    Row{Reason::device_error, is_device_error, target_text},
    Row{Reason::rejected_input, target_raised, target_text},
    Row{Reason::accepted_invalid, is_accepted_invalid, accepted_invalid_text},
    Row{Reason::infrastructure, is_incomplete, death_text},
    Row{Reason::wrong_device, is_wrong_device, wrong_device_text},
    Row{Reason::wrong_shape, is_wrong_shape, wrong_shape_text},
    Row{Reason::wrong_dtype, is_wrong_dtype, wrong_dtype_text},
    Row{Reason::out_of_bounds_write, is_out_of_bounds, out_of_bounds_text},
    Row{Reason::input_modified, is_input_modified, input_modified_text},
    Row{Reason::wrong_alias, is_wrong_alias, wrong_alias_text},
    Row{Reason::unwritten_output, is_unwritten_output, unwritten_text},
    Row{Reason::no_rule, is_no_rule, no_rule_text},
    Row{Reason::undefined_by_spec, is_undefined, undefined_text},
    Row{Reason::reference_suspect, is_reference_suspect, reference_suspect_text},
    Row{Reason::wrong_class, any_class_wrong, difference_text},
    Row{Reason::wrong_value, any_value_wrong, difference_text},
    Row{Reason::cpu_fallback, is_cpu_fallback, fallback_text},
    Row{Reason::precision_downgrade, is_precision_downgrade, precision_text},
    Row{Reason::evidence_weak, is_evidence_weak, evidence_weak_text},
};

void add_note(std::vector<std::string>& notes, const std::string& note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

std::vector<std::string> collect_notes(const Facts& f, Reason reason) {
  const Outcome& o = f.outcome;
  std::vector<std::string> notes;
  for (const std::string& note : o.notes) add_note(notes, note);
  for (const Output& output : o.outputs) {
    for (const std::string& note : output.notes) add_note(notes, of_output(f, output, note));
    if (output.classes.signed_zero > 0) add_note(notes, of_output(f, output, "signed zero"));
    if (output.strides_differ) add_note(notes, of_output(f, output, "strides differ"));
    if (output.weak_evidence && reason != Reason::evidence_weak)
      add_note(notes, of_output(f, output, "evidence weak"));
    if (is_downgraded(output) && format_allowed(f, output))
      add_note(notes, of_output(f, output, output.downgrade + ", which the profile allows"));
  }
  const bool values_right = !any_class_wrong(f) && !any_value_wrong(f) && !o.outputs.empty();
  if (o.witness.ran && !(o.witness.class_ok && o.witness.value_ok) && values_right)
    add_note(notes, "CPU inaccurate here");
  if (o.cpu_fallback && reason != Reason::cpu_fallback)
    add_note(notes, "CPU fallback: " + fallback_text(f));
  if (o.evidence == "same precision") add_note(notes, "evidence: same precision");
  return notes;
}

}  // namespace

Kind kind_of(Reason reason) {
  switch (reason) {
    case Reason::no_kernel:
    case Reason::cpu_fallback:
      return Kind::missing;
    case Reason::unsupported_dtype:
    case Reason::unsupported_layout:
    case Reason::unsupported_shape:
    case Reason::rejected_input:
    case Reason::accepted_invalid:
    case Reason::device_error:
    case Reason::crash:
    case Reason::hang:
      return Kind::input_unmet;
    case Reason::precision_downgrade:
    case Reason::wrong_value:
    case Reason::wrong_class:
    case Reason::wrong_shape:
    case Reason::wrong_dtype:
    case Reason::wrong_device:
    case Reason::wrong_alias:
    case Reason::input_modified:
    case Reason::out_of_bounds_write:
    case Reason::unwritten_output:
      return Kind::wrong_result;
    case Reason::backend_not_loaded:
    case Reason::out_of_memory:
    case Reason::device_lost:
    case Reason::infrastructure:
    case Reason::stale:
      return Kind::environment;
    default:
      return Kind::none;
  }
}

Verdict judge(const Outcome& outcome, const JudgeContext& context) {
  const Facts facts{outcome, context};
  Verdict verdict{Status::pass, Reason::none, Kind::none, {}, {}};
  const auto row =
      std::find_if(k_rows.begin(), k_rows.end(), [&](const Row& r) { return r.applies(facts); });
  if (row != k_rows.end()) {
    verdict.reason = row->reason;
    verdict.status = row->reason == Reason::none ? Status::invalid : status_of(row->reason);
    verdict.kind = kind_of(row->reason);
    verdict.detail = row->detail(facts);
  }
  verdict.notes = collect_notes(facts, verdict.reason);
  return verdict;
}

Status roll_up(const std::vector<Status>& required) {
  Status result = Status::invalid;
  for (const Status status : required) result = worse(result, status);
  return result == Status::invalid ? Status::pending : result;
}

}  // namespace opreplay
