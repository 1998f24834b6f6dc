#pragma once
/// The rules in force: the shipped ones, then the folders a user names.

#include <filesystem>
#include <vector>

#include "lib/plan/rules.h"

namespace opreplay {

/// Throws Error{invalid_input} with every problem of every file.
RuleSet load_rules(const std::vector<std::filesystem::path>& extra_folders);

}  // namespace opreplay
