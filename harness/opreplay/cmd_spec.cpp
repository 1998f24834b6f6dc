#include <fmt/core.h>

#include "harness/opreplay/commands.h"
#include "harness/opreplay/options.h"
#include "lib/plan/spec_options.h"
#include "opreplay/spec.h"

// opreplay spec check|show|fmt: op-spec files without running anything.

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

}  // namespace

void add_spec(CLI::App& app, ExitCode&) {
  CLI::App* spec = app.add_subcommand("spec", "check, show and format op-spec files");
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
}

}  // namespace opreplay::command
