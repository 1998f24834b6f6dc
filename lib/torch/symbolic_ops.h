#pragma once
/// Arithmetic on symbolic sizes: the nodes of a graph that are Python functions on numbers, not
/// operators of the dispatcher. Part of lib/torch/interpreter.h.

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace opreplay {

/// The result of "_operator.add", "math.floor", "torch.sym_max"... on ints, floats and bools, by
/// Python's rules. Throws Error{invalid_input} for a function or operands it does not know.
c10::IValue call_symbolic(const std::string& target, const std::vector<c10::IValue>& arguments);

}  // namespace opreplay
