#include "lib/plan/family.h"

#include <algorithm>
#include <array>

#include "lib/plan/families.h"
#include "opreplay/error.h"
#include "opreplay/plan.h"

namespace opreplay {
namespace {

const std::array k_families = {shape_family(), values_family(), layout_family(), dtype_family()};

}  // namespace

std::span<const Family> families() { return k_families; }

std::vector<FamilyInfo> variation_families() {
  std::vector<FamilyInfo> out;
  for (const Family& family : families()) out.push_back({family.name, family.sentence});
  return out;
}

const Family& find_family(std::string_view name) {
  std::string known;
  for (const Family& family : families()) {
    if (family.name == name) return family;
    known += (known.empty() ? "" : ", ") + std::string(family.name);
  }
  throw Error(ExitCode::invalid_input,
              "unknown variation family " + std::string(name) + ": expected one of " + known);
}

std::vector<std::string> selected_tensors(
    const OpCall& call, const Variation& variation,
    const std::function<bool(const std::string& path, const TensorArg&)>& by_default) {
  std::vector<std::string> all, chosen;
  for_each_tensor(call, [&](const std::string& path, const TensorArg& tensor) {
    all.push_back(path);
    if (by_default(path, tensor)) chosen.push_back(path);
  });
  if (variation.args.empty()) return chosen;
  for (const std::string& arg : variation.args)
    if (std::find(all.begin(), all.end(), arg) == all.end())
      refuse_variation(variation, arg + " is no tensor argument of " + call.op);
  return variation.args;
}

void change_tensors(OpCall& call, const std::vector<std::string>& paths,
                    const std::function<void(TensorArg&)>& change) {
  for_each_tensor(call, [&](const std::string& path, TensorArg& tensor) {
    if (std::find(paths.begin(), paths.end(), path) != paths.end()) change(tensor);
  });
}

std::string_view argument_name(std::string_view path) { return path.substr(0, path.find('.')); }

bool is_written(const FamilyInput& input, std::string_view path) {
  const std::string_view name = argument_name(path);
  const SchemaArg* arg = input.schema.find(name);
  if (arg && arg->written) return true;
  return input.rule && std::find(input.rule->written.begin(), input.rule->written.end(), name) !=
                           input.rule->written.end();
}

void refuse_variation(const Variation& variation, const std::string& why) {
  throw Error(ExitCode::invalid_input, "variation " + to_string(variation) + ": " + why);
}

}  // namespace opreplay
