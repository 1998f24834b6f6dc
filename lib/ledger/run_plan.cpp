#include "lib/ledger/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "opreplay/case.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

using Json = nlohmann::ordered_json;

/// The member `key`, of the type T. Throws naming it otherwise.
template <class T>
T member(const Json& json, const char* key) {
  try {
    return json.at(key).get<T>();
  } catch (const Json::exception& error) {
    throw Error(ExitCode::invalid_input,
                fmt::format("plan.json: key '{}': {}; was the file edited by hand?", key,
                            json.contains(key) ? "of another type" : "missing"));
  }
}

const Json& list(const Json& json, const char* key) {
  if (!json.contains(key) || !json[key].is_array())
    throw Error(ExitCode::invalid_input, fmt::format("plan.json: key '{}': expected a list", key));
  return json[key];
}

}  // namespace

RunPlan describe(const Plan& plan) {
  RunPlan result;
  for (const PlannedCase& c : plan.cases) {
    result.cases.push_back({c.text, id_text(case_id(c.c)), c.workload});
    if (c.scope.empty()) continue;
    // A case typed by hand adds to what counts, a spec says all of it.
    const std::vector<std::string> before =
        c.spec.empty() ? result.scope.defaults : std::vector<std::string>();
    auto& scope = result.scope.per_op.try_emplace(c.c.calls.back().op, before).first->second;
    for (const std::string& entry : c.scope)
      if (std::find(scope.begin(), scope.end(), entry) == scope.end()) scope.push_back(entry);
  }
  result.not_covered = plan.not_covered;
  return result;
}

std::string to_json(const RunPlan& plan) {
  Json json;
  json["v"] = 1;
  json["command"] = plan.command;
  json["device"] = plan.device;
  json["rules"] = plan.rules;
  json["scope"] = plan.scope.defaults;
  json["scope_of_op"] = plan.scope.per_op;
  json["not_covered"] = Json::array();
  for (const NotCovered& gap : plan.not_covered)
    json["not_covered"].push_back({{"op", gap.op}, {"family", gap.family}, {"why", gap.why}});
  json["cases"] = Json::array();
  for (const RunPlan::Entry& entry : plan.cases)
    json["cases"].push_back(
        {{"case", entry.case_text}, {"case_id", entry.case_id}, {"workload", entry.workload}});
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

RunPlan run_plan_from_json(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw Error(ExitCode::invalid_input, "plan.json: not a JSON object");
  const int version = member<int>(json, "v");
  if (version != 1)
    throw Error(ExitCode::invalid_input,
                fmt::format("plan.json: version {} is not version 1, which this opreplay reads; "
                            "use the opreplay that wrote it",
                            version));
  RunPlan plan;
  plan.command = member<std::string>(json, "command");
  plan.device = member<std::string>(json, "device");
  plan.rules = member<std::string>(json, "rules");
  plan.scope.defaults = member<std::vector<std::string>>(json, "scope");
  plan.scope.per_op = member<std::map<std::string, std::vector<std::string>>>(json, "scope_of_op");
  for (const Json& gap : list(json, "not_covered"))
    plan.not_covered.push_back({member<std::string>(gap, "op"), member<std::string>(gap, "family"),
                                member<std::string>(gap, "why")});
  for (const Json& entry : list(json, "cases"))
    plan.cases.push_back({member<std::string>(entry, "case"), member<std::string>(entry, "case_id"),
                          member<bool>(entry, "workload")});
  return plan;
}

}  // namespace opreplay
