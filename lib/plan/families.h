#pragma once
/// The families there are; each is defined in family_<name>.cpp.

#include "lib/plan/family.h"

namespace opreplay {

/// The names in a table of members.
template <class Table>
std::vector<std::string_view> names_of(const Table& table) {
  std::vector<std::string_view> names;
  for (const auto& member : table) names.push_back(member.name);
  return names;
}

Family shape_family();
Family values_family();
Family layout_family();
Family dtype_family();

}  // namespace opreplay
