#pragma once
/// What an exception's text says: no kernel, unsupported and what about it, lost device...
/// Texts are those of torch 2.13 and of public device runtimes; docs/verdicts.md lists them.
/// Next: judge.cpp asks these questions in the order of the rule table.

#include <string>
#include <string_view>
#include <vector>

#include "opreplay/outcome.h"

namespace opreplay {

/// What the text says is unsupported.
enum class Unsupported { no, dtype, layout, shape };

/// The first line that is not blank, trimmed; a repeated exception prefix stays.
std::string first_line(std::string_view text);

/// `"x_cpu" not implemented for 'Half'`: a dtype is missing, not the operator.
bool says_not_implemented_for(const Raised& raised);

/// The dispatcher found no kernel, or a kernel says that it is none.
bool says_no_kernel(const Raised& raised);

/// The operator and the dispatch key of "Could not run 'aten::silu.out' with arguments from the
/// 'PrivateUse1' backend": "aten::silu.out on PrivateUse1". Empty if the text is another.
std::string missing_kernel(std::string_view message);

/// The text (or one of the profile's `patterns`) says "unsupported", and of what.
Unsupported says_unsupported(const Raised& raised, const std::vector<std::string>& patterns);

bool says_out_of_memory(const Raised& raised);
bool says_device_lost(const Raised& raised);
bool says_backend_not_loaded(const Raised& raised);

/// True if one of the ECMAScript regexes is found in `text`, case ignored.
/// Throws Error{invalid_input} naming a pattern that is no regular expression.
bool matches_any(const std::vector<std::string>& patterns, const std::string& text);

}  // namespace opreplay
