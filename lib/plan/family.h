#pragma once
/// Families of variations: neighbouring calls that real devices get wrong. One .cpp each, listed in
/// families(). docs/variations.md says what each member changes and which bugs it finds.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/schema.h"
#include "lib/plan/rules.h"
#include "opreplay/case.h"

namespace opreplay {

/// What a family may look at.
struct FamilyInput {
  const OpCall& call;
  const Schema& schema;
  const Rule* rule;  ///< null if the op has none
};

struct Family {
  std::string_view name;
  std::string_view sentence;
  std::vector<std::string_view> members;  ///< every word that may stand behind the dot
  /// The members that make sense for this call, in order; `args` filled in only where they differ
  /// from the family's default set.
  std::vector<Variation> (*list)(const FamilyInput& input);
  /// The varied call. Throws Error{invalid_input} if member, place or argument does not exist.
  OpCall (*apply)(const FamilyInput& input, const Variation& variation);
};

std::span<const Family> families();
/// Throws Error{invalid_input} naming the nearest family if there is none called `name`.
const Family& find_family(std::string_view name);

/// Paths of the tensors a variation changes: those it names, else those `by_default` accepts.
/// Throws Error{invalid_input} if a named argument is no tensor of the call.
std::vector<std::string> selected_tensors(
    const OpCall& call, const Variation& variation,
    const std::function<bool(const std::string& path, const TensorArg&)>& by_default);

/// Calls `change` for each tensor of `call` whose path is in `paths`.
void change_tensors(OpCall& call, const std::vector<std::string>& paths,
                    const std::function<void(TensorArg&)>& change);

/// The argument a tensor path belongs to: "tensors.1" -> "tensors".
std::string_view argument_name(std::string_view path);

/// Whether the op writes the argument of `path`: the schema marks it, or the rule says so.
bool is_written(const FamilyInput& input, std::string_view path);

[[noreturn]] void refuse_variation(const Variation& variation, const std::string& why);

}  // namespace opreplay
