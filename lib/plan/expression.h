#pragma once
/// Small integer expressions over a call, as rules write them: `size(weight, 0)`,
/// `2*numel(self)-1`.
///   sum     := product (('+' | '-') product)*
///   product := factor ('*' factor)*
///   factor  := '-' factor | INTEGER | '(' sum ')' | NAME | size(NAME, sum) | numel(NAME)
///            | prod(NAME)
/// NAME is an argument ("self", "tensors.0"); a bare one must be a whole number. `position` is the
/// tensor's place in its list. Dims count from the end when negative. prod is the product of an
/// int list, or numel of a tensor.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opreplay/call.h"

namespace opreplay {

/// The value on `call`. Throws Error{invalid_input} on bad syntax, on a name the call lacks or that
/// is of another kind, and on overflow.
std::int64_t evaluate(std::string_view expression, const OpCall& call, std::int64_t position = 0);

/// What is wrong with the syntax of an expression; nothing if it is sound. Names are added to
/// `names` if given.
std::optional<std::string> check_expression(std::string_view expression,
                                            std::vector<std::string>* names = nullptr);

}  // namespace opreplay
