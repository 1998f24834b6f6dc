#pragma once
/// A small finished run with one case of every kind, for the tests of reports.

#include <limits>
#include <string>
#include <vector>

#include "lib/ledger/record.h"
#include "lib/ledger/run_folder.h"
#include "lib/report/reporter.h"

namespace opreplay::testing {

inline Record sample_record(const std::string& text, const std::string& id, Verdict verdict) {
  Record r;
  r.case_text = text;
  r.case_id = "000000000000000" + id;
  r.call_id = "00000000000000a" + id;
  r.op = op_of(text);
  r.workload = variations_of(text).empty();
  if (!r.workload) {
    r.family = variations_of(text).front();
    r.family.erase(r.family.find('.'));
  }
  r.module = "layers.0";
  r.device = "sim:faults.yaml";
  r.repro = "opreplay run '" + text + "' --device sim:faults.yaml";
  r.verdict = std::move(verdict);
  r.outcome.stage = Stage::done;
  r.outcome.total_ms = 12.5;
  return r;
}

inline std::vector<Record> sample_records() {
  constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Record> records;
  records.push_back(sample_record("aten.clamp(f32[2,3,4,5], 0.0, 1.0)", "1",
                                  {Status::pass, Reason::none, Kind::none, "", {"signed zero"}}));
  records.push_back(
      sample_record("aten.clamp(f32[2,3,4,5], 0.0, 1.0) values.nan@first", "2",
                    {Status::blocked,
                     Reason::wrong_class,
                     Kind::wrong_result,
                     "NaN expected at 1 of 120 elements (element [0,0,0,0]: target 0, "
                     "reference nan)",
                     {}}));
  OutputComparison clamp;
  clamp.name = "out";
  clamp.elements = 120;
  clamp.classes.nan = 1;
  clamp.worst.push_back({{0, 0, 0, 0}, 0, k_nan, 0});
  records.back().outcome.outputs.push_back(clamp);

  records.push_back(
      sample_record("aten.mm(f32[8,64], f32[64,8])", "3",
                    {Status::blocked,
                     Reason::wrong_value,
                     Kind::wrong_result,
                     "3 of 64 elements outside the bound (element [1,2]: target 1.5, reference "
                     "1.25, allowed difference 0.0145), error/bound 17.2",
                     {"CPU inaccurate here"}}));
  OutputComparison mm;
  mm.name = "out";
  mm.model = "accumulate";
  mm.elements = 64;
  mm.bad = 3;
  mm.max_abs = 0.25;
  mm.max_rel = 0.2;
  mm.max_ulp = 2097152;
  mm.worst_ratio = 17.25;
  mm.rms_ratio = 4.5;
  mm.zero_share = 0.25;
  mm.worst = {{{1, 2}, 1.5, 1.25, 0.0145}, {{7, 7}, -0.5, -0.25, 0.125}};
  records.back().outcome.outputs.push_back(mm);
  records.back().count = 24;
  records.back().owner = "kernel <team>";

  records.push_back(
      sample_record("aten.relu(f16[0,3])", "4",
                    {Status::blocked,
                     Reason::crash,
                     Kind::input_unmet,
                     "killed by signal 11 (SIGSEGV) at launch: fatal \x1b[31m<oops> & \"more\"",
                     {}}));
  records.back().outcome.ending = Ending::crashed;
  records.back().outcome.signal = 11;
  records.back().outcome.output_tail = "loading kernel\nfatal \x1b[31m<oops> & \"more\"\n";

  records.push_back(sample_record("aten.silu(f32[4])", "5",
                                  {Status::substitute,
                                   Reason::cpu_fallback,
                                   Kind::missing,
                                   "aten::_to_cpu inside aten::silu",
                                   {}}));
  records.push_back(sample_record("vendor.fused(f32[4], \"a|b\")", "6",
                                  {Status::pending,
                                   Reason::no_rule,
                                   Kind::none,
                                   "no error model is known for this operator",
                                   {}}));
  records.push_back(sample_record("aten.amax(f32[0,3]) shape.empty_batch", "7",
                                  {Status::invalid,
                                   Reason::none,
                                   Kind::none,
                                   "the CPU rejects the call: amax(): Expected reduction dim",
                                   {}}));
  records.push_back(
      sample_record("aten.neg(f32[4])", "8", {Status::pass, Reason::none, Kind::none, "", {}}));
  records.push_back(
      sample_record("aten.neg(f32[4]) layout.step", "9",
                    {Status::blocked, Reason::rejected_input, Kind::input_unmet, "stride 2?", {}}));
  return records;
}

/// The plan of that run; its last case was not reached.
inline RunPlan sample_plan() {
  RunPlan plan;
  plan.command = "opreplay run specs --device sim:faults.yaml";
  plan.device = "sim:faults.yaml";
  plan.rules = "00000000deadbeef";
  for (const Record& r : sample_records())
    plan.cases.push_back({r.case_text, r.case_id, r.workload});
  plan.cases.push_back({"aten.tanh(f32[4])", "0000000000000010", true});
  plan.not_covered.push_back({"aten.view", "shape", "product relation, no rule"});
  return plan;
}

inline Environment sample_environment() {
  Environment e;
  e.facts = {{"torch", "2.13.0+cpu"}, {"device", "simulated"}, {"cpu", "A | B"}};
  e.volatile_facts = {{"time", "2026-01-31T23:59:59Z"}};
  return e;
}

inline Summary sample_summary() {
  Summary summary;
  for (const Record& r : sample_records()) summary.add(r.verdict.status);
  summary.add_not_run(1);
  summary.seconds = 1.24;
  return summary;
}

/// Writes the run to `folder` and tells `reporter` about it as a live run would.
inline void replay_sample(const std::filesystem::path& folder, Reporter& reporter) {
  RunFolder run =
      RunFolder::open(folder, is_run_folder(folder) ? OpenMode::replace : OpenMode::fresh);
  run.write_environment(sample_environment());
  run.write_plan(sample_plan());
  reporter.begin({folder, sample_environment(), sample_plan()});
  for (const Record& r : sample_records()) {
    run.append(r);
    reporter.record(r);
  }
  reporter.end(sample_summary());
}

}  // namespace opreplay::testing
