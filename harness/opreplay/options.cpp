#include "harness/opreplay/options.h"

#include <charconv>

#include "harness/simdevice/fault_file.h"
#include "lib/isolate/profile.h"
#include "opreplay/error.h"
#include "opreplay/plan.h"

namespace opreplay::command {
namespace {

/// Profiles that are no accelerators: never taken without being named.
bool is_built_in(const std::string& profile) { return profile == "sim" || profile == "cpu"; }

std::string family_names() {
  std::string out;
  for (const FamilyInfo& family : variation_families()) out += ", " + std::string(family.name);
  return out;
}

/// A broken fault file is the user's to mend, not a finding about a device.
void check_fault_file(const std::string& device) {
  const std::string prefix = "sim:";
  if (device.starts_with(prefix) && std::filesystem::exists(device.substr(prefix.size())))
    sim::load_faults(device.substr(prefix.size()));
}

}  // namespace

SessionOptions RunOptions::session(const std::string& chosen_device) const {
  return {chosen_device, rules, timeout_s, parse_bytes(max_bytes)};
}

void add_run_options(CLI::App& command, RunOptions& options) {
  command
      .add_option("--device", options.device,
                  "NAME[:INDEX] of a profile, or sim[:FAULTS.yaml]; default: the only "
                  "accelerator found")
      ->type_name("DEVICE");
  command
      .add_option("--vary", options.vary,
                  "variation families of op-specs: all, none" + family_names() +
                      "; a case string runs as it stands")
      ->delimiter(',')
      ->type_name("FAMILIES")
      ->allow_extra_args(false)
      ->capture_default_str();
  command
      .add_option("-k", options.filter,
                  "run only cases that match: words joined by and, or, not, ( ); id:HEX")
      ->type_name("EXPR");
  command.add_option("--seed", options.seed, "seed of the input values")->capture_default_str();
  command.add_flag("-x,--exit-first", options.exit_first, "stop after the first blocked case");
  command.add_option("--maxfail", options.max_failures, "stop after N blocked cases")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command.add_option("--timeout", options.timeout_s, "deadline of one case in seconds")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber);
  command.add_option("--max-bytes", options.max_bytes, "limit for all inputs of one case")
      ->type_name("BYTES")
      ->capture_default_str();
  command.add_option("--allow", options.allow, "statuses that do not fail: pending,substitute")
      ->delimiter(',')
      ->type_name("STATUSES")
      ->allow_extra_args(false);
  command
      .add_option("--report", options.reports,
                  "also write a report: junit:FILE.xml or md:FILE.md; repeatable")
      ->type_name("REPORT")
      ->allow_extra_args(false);
  command
      .add_option("--rules", options.rules, "folder of rules beside the shipped ones; repeatable")
      ->type_name("DIR")
      ->allow_extra_args(false);
  command
      .add_option("-o,--output", options.folder, "run folder; default: a new one in opreplay-runs/")
      ->type_name("RUN");
  command.add_option("--color", options.color, "colours on the console")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  command.add_option("--progress", options.progress, "progress on stderr")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  auto* verbose = command.add_flag("-v,--verbose", options.verbose, "a line for every case");
  command.add_flag("-q,--quiet", options.quiet, "only the closing line")->excludes(verbose);
}

std::string choose_device(const std::string& given) {
  if (!given.empty()) {
    check_fault_file(given);
    return given;
  }
  std::vector<std::string> usable;
  std::string known;
  for (const std::string& name : profile_names()) {
    known += (known.empty() ? "" : ", ") + name;
    if (is_built_in(name)) continue;
    try {
      load_profile(name);
      usable.push_back(name);
    } catch (const Error&) {
      // Why a profile does not load is shown by `opreplay env --devices`.
    }
  }
  if (usable.size() == 1) return usable.front();
  const std::string found = usable.empty() ? "no accelerator found" : "several accelerators found";
  throw Error(
      ExitCode::device_missing,
      found + " (profiles: " + known +
          "); name one with --device, or try --device sim; `opreplay env --devices` says why "
          "a profile does not load");
}

std::int64_t parse_bytes(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  int shift = 0;
  bool valid = error == std::errc() && number > 0;
  if (valid && rest != end) {
    const std::string_view units = "KMGT";
    const auto unit = units.find(*rest);
    valid = unit != std::string_view::npos && rest + 1 == end;
    shift = 10 * (static_cast<int>(unit) + 1);
  }
  if (!valid || number > (INT64_MAX >> shift))
    throw Error(ExitCode::usage, "--max-bytes " + text + ": expected a number such as 512M or 4G");
  return number << shift;
}

}  // namespace opreplay::command
