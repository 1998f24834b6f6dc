#pragma once
/// Calls an operator by name with our argument values: finds it in the dispatcher, turns values
/// into a typed stack, runs it boxed. Used by replay (one call) and by the graph interpreter.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Scalar.h>

#include <optional>
#include <string>

#include "opreplay/call.h"

namespace opreplay {

/// The operator called "aten.softmax.int"; nothing if no loaded library registers it.
std::optional<c10::OperatorHandle> find_operator(const std::string& op);

/// Where the values of a stack come from, and how constants change on the way.
class ArgumentSource {
 public:
  virtual ~ArgumentSource() = default;
  /// The tensor at `path` ("self", "tensors.1").
  virtual at::Tensor tensor(const std::string& path, const TensorArg& arg) = 0;
  /// A value computed elsewhere in a graph. Default: an internal Error.
  virtual c10::IValue ref(const Ref& ref);
  /// A number given as Scalar or in place of a tensor. Default: as is.
  virtual c10::Scalar scalar(const c10::Scalar& value) { return value; }
  /// A dtype argument. Default: as is.
  virtual c10::ScalarType dtype(c10::ScalarType type) { return type; }
  /// Every device argument is rewritten to this one.
  virtual c10::Device device() const = 0;
};

/// The stack for one call: every argument of the schema, defaults filled in, lists typed. Strict,
/// so that the boxed call, which checks nothing, never sees a wrong type. Throws c10::Error naming
/// op and argument on a value the schema does not admit.
torch::jit::Stack make_stack(const c10::FunctionSchema& schema, const OpCall& call,
                             ArgumentSource& source);

/// Runs the operator; the stack holds the results afterwards.
void call_boxed(const c10::OperatorHandle& op, torch::jit::Stack& stack);

/// How the dispatch table serves `key`: "kernel", "math kernel" (composite), "default backend
/// kernel", "backend fallback" or "missing".
std::string kernel_of(const c10::OperatorHandle& op, c10::DispatchKey key);

}  // namespace opreplay
