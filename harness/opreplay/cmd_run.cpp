#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "harness/opreplay/commands.h"
#include "harness/opreplay/run_cases.h"
#include "lib/base/case_parser.h"
#include "lib/plan/filter.h"
#include "lib/plan/planner.h"
#include "lib/session/rules.h"
#include "lib/spec/schema_table.h"

// opreplay run WHAT...: op-specs (files, folders) and case strings on a device.

namespace opreplay::command {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> what;
  bool list = false, list_variations = false;
  RunOptions run;
};

/// A case string names a call; a path does not contain "(" unless it exists.
bool is_case_string(const std::string& operand) {
  return !fs::exists(operand) && operand.find('(') != std::string::npos;
}

/// What a person typed must not end as a case that was never run.
void refuse_too_large(const PlannedCase& planned, const RuleSet& rules, std::int64_t max_bytes) {
  const std::string why = over_limit(resolve(planned.c, rules, shipped_schemas()), max_bytes);
  if (!why.empty()) throw Error(ExitCode::invalid_input, planned.text + ": " + why);
}

/// Cases typed by hand, then what the specs of all operands give together.
Plan make_plan_of(const Options& options) {
  const RuleSet rules = load_rules(options.run.rules);
  const Filter filter(options.run.filter);
  const std::int64_t max_bytes = parse_bytes(options.run.max_bytes);
  std::vector<PlannedCase> typed;
  std::vector<OpSpec> specs;
  for (const std::string& operand : options.what) {
    if (is_case_string(operand)) {
      // Exactly this case: a string says itself which variation it wants.
      PlannedCase c = plan_case(parse_case(operand, shipped_schemas()));
      refuse_too_large(c, rules, max_bytes);
      if (filter.matches(c.text, id_text(case_id(c.c)))) typed.push_back(std::move(c));
      continue;
    }
    if (!fs::exists(operand))
      throw Error(ExitCode::invalid_input,
                  operand +
                      ": no such file or folder, and no case string such as "
                      "'aten.relu(f32[2,3])'");
    LoadLimits limits;
    limits.max_bytes = max_bytes;
    std::ranges::move(load_specs(operand, limits), std::back_inserter(specs));
  }
  Plan plan = make_plan(specs, rules, {options.run.vary, options.run.filter, options.run.seed});
  plan.cases.insert(plan.cases.begin(), std::make_move_iterator(typed.begin()),
                    std::make_move_iterator(typed.end()));
  return plan;
}

void list_variations() {
  for (const FamilyInfo& family : variation_families())
    fmt::print("{:<10} {}\n", family.name, family.sentence);
}

ExitCode run(const Options& options) {
  if (options.list_variations) {
    list_variations();
    return ExitCode::ok;
  }
  if (options.what.empty())
    throw Error(ExitCode::usage, "run: expected op-spec files, folders or case strings");
  const Plan plan = make_plan_of(options);
  if (plan.cases.empty())
    throw Error(
        ExitCode::nothing_selected,
        "no case selected" +
            (options.run.filter.empty() ? std::string() : " by -k '" + options.run.filter + "'"));
  if (options.list) {
    for (const PlannedCase& c : plan.cases) fmt::print("{}\n", c.text);
    return ExitCode::ok;
  }
  const std::string device = choose_device(options.run.device);
  Session session(options.run.session(device));
  RunFolder folder = open_run_folder(options.run);
  return run_cases(plan, session, folder, options.run, device);
}

}  // namespace

void add_run(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("run", "run op-specs or single cases on a device");
  auto options = std::make_shared<Options>();
  command->add_option("WHAT", options->what, "op-spec files or folders, or case strings");
  command->add_flag("--list", options->list, "print the selected cases and stop");
  command->add_flag("--list-variations", options->list_variations,
                    "print what the variation families change and find");
  add_run_options(*command, options->run);
  command->callback([options, &code] { code = run(*options); });
}

}  // namespace opreplay::command
