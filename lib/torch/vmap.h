#pragma once
/// The nodes that torch.vmap leaves in an exported graph: they open and close a level of batching
/// and wrap tensors with a batch dim; operators in between are dispatched through functorch.
/// Part of lib/torch/interpreter.h.

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace opreplay {

bool is_vmap(const std::string& target);

/// Runs "torch._functorch.predispatch._add_batch_dim" and its like. Throws Error{invalid_input}
/// for a function or arguments it does not know.
c10::IValue call_vmap(const std::string& target, const std::vector<c10::IValue>& arguments);

/// Some level is open: tensors may be wrapped.
bool inside_vmap();

/// Closes at its end what a graph that failed has left open.
class VmapScope {
 public:
  VmapScope();
  ~VmapScope();
  VmapScope(const VmapScope&) = delete;
  VmapScope& operator=(const VmapScope&) = delete;

 private:
  std::size_t depth_;
};

}  // namespace opreplay
