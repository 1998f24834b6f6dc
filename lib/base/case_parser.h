#pragma once
/// Case strings to cases. The inverse, `to_string`, is public (opreplay/case.h).
/// Grammar: docs/spec-format.md. Canonical: parse(to_string(c)) == c, and to_string is one string
/// per case.

#include <span>
#include <string_view>

#include "lib/base/bind.h"
#include "lib/base/schema.h"
#include "opreplay/case.h"

namespace opreplay {

/// Parses a whole case string and binds its calls to their schemas.
/// Throws Error{invalid_input}: column, what was expected and found, the nearest valid word.
Case parse_case(std::string_view text, const SchemaSource& schemas);

/// Parses "f16[2,4;8,1+3]&a". Throws Error{invalid_input}.
TensorDesc parse_tensor(std::string_view text);

/// Parses "values.nan@first:self,other". Throws Error{invalid_input}.
Variation parse_variation(std::string_view text);

/// Parses one argument value as it stands in a case string. Throws Error{invalid_input}.
Value parse_value(std::string_view text);

/// Renames the storage labels of a case's calls to a, b, c... in order of first use, and drops
/// those that only one tensor has. Calls of one case share labels. parse_case has done it.
void canonical_storage(std::span<OpCall> calls);

}  // namespace opreplay
