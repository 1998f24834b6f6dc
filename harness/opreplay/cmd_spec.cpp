#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "harness/opreplay/commands.h"
#include "harness/opreplay/options.h"
#include "lib/plan/spec_options.h"
#include "lib/session/rules.h"
#include "opreplay/error.h"
#include "opreplay/spec.h"

// opreplay spec check|show|fmt: op-spec files without running anything; spec rules: what is known
// of operators.

namespace opreplay::command {
namespace {

struct SpecOptions {
  std::vector<std::string> paths;
  std::string max_bytes = "4G";

  std::vector<OpSpec> load() const {
    LoadLimits limits;
    limits.max_bytes = parse_bytes(max_bytes);
    std::vector<OpSpec> specs;
    for (const std::string& path : paths)
      for (OpSpec& spec : load_specs(path, limits)) specs.push_back(std::move(spec));
    return specs;
  }
};

std::int64_t call_count(const OpSpec& spec) {
  std::int64_t count = 0;
  for (const SpecCall& call : spec.calls) count += call.count;
  return count;
}

void check(const SpecOptions& options) {
  std::int64_t files = 0, distinct = 0, calls = 0;
  const std::vector<OpSpec> specs = options.load();
  check_spec_options(specs);
  for (const OpSpec& spec : specs) {
    ++files;
    distinct += static_cast<std::int64_t>(spec.calls.size());
    calls += call_count(spec);
  }
  fmt::print("{} specs, {} distinct calls, {} calls: no problem found\n", files, distinct, calls);
}

void show(const SpecOptions& options) {
  for (const OpSpec& spec : options.load()) {
    fmt::print("{}\n", spec.op);
    for (const SpecCall& call : spec.calls) {
      fmt::print("  {} x{:<4} {}\n", id_text(call_id(call.call)), call.count, to_string(call.call));
      for (const CallSite& site : call.at)
        fmt::print("      at {}{}{}\n", site.module.empty() ? "the model" : site.module,
                   site.line.empty() ? "" : ", ", site.line);
    }
  }
}

void format(const SpecOptions& options) {
  for (const OpSpec& spec : options.load()) {
    write_spec(spec, spec.file);
    fmt::print("{}\n", spec.file.string());
  }
}

struct RulesOptions {
  std::vector<std::string> operands;
  std::vector<std::filesystem::path> rules;
};

/// What `spec rules` lists: rules (or null) by operator or prefix.
using RuleTable = std::map<std::string, const Rule*>;

void add_matching(const RuleSet& rules, const std::string& op, RuleTable& table) {
  if (!op.ends_with('*')) {
    table[op] = rules.find(op);
    return;
  }
  const std::string prefix = op.substr(0, op.size() - 1);
  for (const auto& [name, rule] : rules.all())
    if (name.starts_with(prefix)) table[name] = &rule;
}

/// An operand is a path if it names something that exists, or could not be an operator.
bool is_path(const std::string& operand) {
  return operand.find('/') != std::string::npos || operand.ends_with(".yaml") ||
         std::filesystem::exists(operand);
}

void print_rules(const RuleTable& table) {
  const auto model_of = [](const Rule* rule) -> std::string_view {
    return rule && !rule->oracle.model.empty() ? std::string_view(rule->oracle.model) : "generic";
  };
  std::size_t op_width = 0, model_width = 0;
  for (const auto& [op, rule] : table) {
    op_width = std::max(op_width, op.size());
    model_width = std::max(model_width, model_of(rule).size());
  }
  for (const auto& [op, rule] : table) {
    const std::string source = rule ? rule->source : "no rule";
    const std::string citation = rule && !rule->citation.empty() ? "; " + rule->citation : "";
    fmt::print("{:{}}  {:{}}  {}{}\n", op, op_width, model_of(rule), model_width, source, citation);
  }
}

void list_rules(const RulesOptions& options) {
  const RuleSet rules = load_rules(options.rules);
  RuleTable table;
  if (options.operands.empty()) add_matching(rules, "*", table);
  for (const std::string& operand : options.operands) {
    if (!is_path(operand)) {
      add_matching(rules, operand, table);
      continue;
    }
    for (const OpSpec& spec : load_specs(operand)) table[spec.op] = rules.find(spec.op);
  }
  if (table.empty())
    throw Error(ExitCode::nothing_selected,
                fmt::format("no rule begins with {}; `opreplay spec rules` lists all",
                            options.operands.front()));
  print_rules(table);
}

}  // namespace

void add_spec(CLI::App& app, ExitCode&) {
  CLI::App* spec =
      app.add_subcommand("spec", "check, show and format op-spec files; list the rules");
  spec->require_subcommand(1);
  const auto add = [spec](const char* name, const char* about, void (*run)(const SpecOptions&)) {
    CLI::App* command = spec->add_subcommand(name, about);
    auto options = std::make_shared<SpecOptions>();
    command->add_option("PATH", options->paths, "op-spec files or folders")->required();
    command->add_option("--max-bytes", options->max_bytes, "limit for the tensors of one call")
        ->capture_default_str();
    command->callback([options, run] { run(*options); });
  };
  add("check", "read every file and report all problems", check);
  add("show", "list the calls: id, count, case string, sites", show);
  add("fmt", "rewrite the files in canonical form", format);

  CLI::App* rules = spec->add_subcommand("rules", "list operators, error models, and who says so");
  auto options = std::make_shared<RulesOptions>();
  rules->add_option("OP|PATH", options->operands,
                    "operators, prefixes ending in *, op-spec files or folders; all rules if none");
  rules->add_option("--rules", options->rules, "further folders of rules");
  rules->callback([options] { list_rules(*options); });
}

}  // namespace opreplay::command
