#include "opreplay/session.h"

#include <fmt/format.h>

#include "lib/base/case_parser.h"
#include "lib/isolate/programs.h"
#include "lib/isolate/supervisor.h"
#include "lib/judge/judge.h"
#include "lib/plan/planner.h"
#include "lib/session/known.h"
#include "lib/session/repro.h"
#include "lib/session/rules.h"
#include "lib/spec/schema_table.h"

namespace opreplay {

namespace fs = std::filesystem;

RuleSet load_rules(const std::vector<fs::path>& extra_folders) {
  std::vector<fs::path> folders = {data_folder() / "opspecs" / "rules"};
  folders.insert(folders.end(), extra_folders.begin(), extra_folders.end());
  return RuleSet::load(folders);
}

namespace {

std::string tolerance_note(const Tolerance& tolerance) {
  return fmt::format("bounds {} times as wide: {}", tolerance.factor, tolerance.why);
}

}  // namespace

class Session::Impl {
 public:
  explicit Impl(SessionOptions options)
      : options_(std::move(options)),
        profile_(load_profile(options_.device)),
        rules_(load_rules(options_.rules)) {}

  const RuleSet& rules() const { return rules_; }

  CaseResult run(const PlannedCase& planned, const std::function<bool()>& interrupted) {
    CaseResult result;
    result.planned = planned;
    result.repro = repro_line(planned, options_);
    ReplayRequest request = resolve(planned.c, rules_, shipped_schemas());
    if (planned.tolerance) request.tolerance = planned.tolerance->factor;
    if (const std::string why = over_limit(request, options_.max_bytes); !why.empty()) {
      result.verdict = {Status::pending, Reason::not_run, Kind::none, why, {}};
      return result;
    }
    result.outcome = supervisor().run(request, interrupted);
    JudgeContext context;
    context.has_rule = !request.oracle.model.empty();
    context.workload = planned.workload;
    context.unsupported_patterns = profile_.unsupported_patterns;
    context.error_patterns = profile_.error_patterns;
    context.allow = profile_.allow;
    result.verdict = judge(result.outcome, context);
    if (planned.tolerance) result.verdict.notes.push_back(tolerance_note(*planned.tolerance));
    apply_known(planned.known, options_.device, result);
    return result;
  }

  /// Started with the first use: a plan or a list needs no device.
  Supervisor& supervisor() {
    if (!supervisor_) {
      SupervisorOptions options;
      options.launcher = program_file("opreplay-launcher");
      options.worker = program_file("libopreplay_worker.so");
      options.timeout_s = options_.timeout_s;
      options.max_bytes = options_.max_bytes;
      supervisor_ = std::make_unique<Supervisor>(profile_, options);
    }
    return *supervisor_;
  }

 private:
  SessionOptions options_;
  Profile profile_;
  RuleSet rules_;
  std::unique_ptr<Supervisor> supervisor_;
};

Session::Session(SessionOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;

Plan Session::plan(const std::vector<OpSpec>& specs, const PlanOptions& options) const {
  return make_plan(specs, impl_->rules(), options);
}

PlannedCase Session::parse(std::string_view case_text) const {
  return plan_case(parse_case(case_text, shipped_schemas()));
}

CaseResult Session::run(const PlannedCase& planned, const std::function<bool()>& interrupted) {
  return impl_->run(planned, interrupted);
}

std::string Session::identity() { return impl_->supervisor().identity(); }

std::uint64_t Session::rules_hash() const { return impl_->rules().hash(); }

}  // namespace opreplay
