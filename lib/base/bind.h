#pragma once
/// Fits calls to their schemas: names for arguments, types checked, one form for equal calls.
/// Case strings, specs and model readers all end here; the inverse is the printing in
/// opreplay/case.h.

#include <cstddef>
#include <optional>
#include <string>

#include "lib/base/schema.h"
#include "opreplay/call.h"

namespace opreplay {

/// Names a call's arguments by its schema and brings it into canonical form: schema order, integer
/// literals of float arguments made floats, lone numbers of int[N] spread, trailing defaults
/// dropped. Positional arguments may come unnamed; named ones may come in any order.
/// A Ref fits every type (graphs bind their nodes too). Storage labels are left as they are.
/// Throws Error{invalid_input} on an unknown, missing, doubled or ill-typed argument.
void bind(OpCall& call, const Schema& schema);

/// What is wrong with a call, and with which of its arguments (as given; nothing = with the call).
struct BindProblem {
  std::optional<std::size_t> argument;
  std::string message;
};

/// As bind, for callers that know where in a text each argument stands. On a problem the call is
/// left half bound.
std::optional<BindProblem> try_bind(OpCall& call, const Schema& schema);

/// Converts `value` to the form that `type` asks for (see bind). False if it does not fit.
bool coerce(Value& value, const SchemaType& type);

/// The type as schemas spell it: "Tensor?[]", "int[2]".
std::string type_text(const SchemaType& type);

}  // namespace opreplay
