#include "lib/plan/spec_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "opreplay/error.h"

namespace opreplay {
namespace {

/// "+values.nan" -> "values.nan"
std::string_view unsigned_word(std::string_view word) {
  if (word.starts_with('+') || word.starts_with('-')) word.remove_prefix(1);
  return word;
}

/// What is wrong with "family" or "family.member"; nothing if both exist.
std::optional<std::string> problem_of(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('.'));
  const auto all = families();
  const auto family = std::ranges::find(all, name, &Family::name);
  if (family == all.end()) {
    std::vector<std::string_view> names;
    for (const Family& f : all) names.push_back(f.name);
    return fmt::format("this version varies {}", fmt::join(names, ", "));
  }
  if (name.size() == word.size()) return std::nullopt;
  const auto& members = family->members;
  if (std::ranges::find(members, word.substr(name.size() + 1)) != members.end())
    return std::nullopt;
  return fmt::format("the members of {} are {}", name, fmt::join(members, ", "));
}

}  // namespace

void check_spec_options(const std::vector<OpSpec>& specs) {
  std::string problems;
  const auto complain = [&](const OpSpec& spec, std::string_view key, std::string_view word,
                            const std::string& why) {
    problems += fmt::format("{}{}: {}: {}: {}", problems.empty() ? "" : "\n",
                            spec.file.empty() ? spec.op : spec.file.string(), key, word, why);
  };
  for (const OpSpec& spec : specs) {
    for (const std::string& word : spec.scope)
      if (const auto why = problem_of(word)) complain(spec, "scope", word, *why);
    for (const std::string& word : spec.vary) {
      const std::string_view family = unsigned_word(word);
      if (family.find('.') != std::string_view::npos)
        complain(spec, "vary", word, "a family as a whole is added or removed, not a member");
      else if (const auto why = problem_of(family))
        complain(spec, "vary", word, *why);
    }
  }
  if (!problems.empty()) throw Error(ExitCode::invalid_input, problems);
}

std::vector<const Family*> edited(std::vector<const Family*> families, const OpSpec& spec) {
  for (const std::string& word : spec.vary) {
    const Family* family = &find_family(unsigned_word(word));
    std::erase(families, family);
    if (!word.starts_with('-')) families.push_back(family);
  }
  std::ranges::sort(families);
  return families;
}

}  // namespace opreplay
