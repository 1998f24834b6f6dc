#pragma once
/// Every dispatcher call of a run, nested ones and in-place ones included, seen after it was made:
/// how staged.h perturbs what an operator computes on the way to its result.

#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <functional>

namespace opreplay {

/// While it lives, `change` gets every strided floating or complex CPU tensor that an operator of
/// this thread has just computed or written (views of an argument, and what ceil, floor, round and
/// trunc give, excepted), and may change its elements in place. `uninitialised` is true for memory
/// that the operator has only allocated. Calls that `change` makes itself are not intercepted. One
/// at a time per thread: a second one throws Error{internal}.
///
/// Works by a boxed fallback on the dispatch key Fake, below autograd; torch leaves that key
/// without a fallback and includes it nowhere. Kernels that call each other below the dispatcher
/// are not seen.
class Interception {
 public:
  using Change = std::function<void(const at::Tensor& computed, bool uninitialised)>;

  explicit Interception(Change change);
  ~Interception();
  Interception(const Interception&) = delete;
  Interception& operator=(const Interception&) = delete;

 private:
  friend struct InterceptedCall;
  Change change_;
  c10::impl::IncludeDispatchKeyGuard include_;
};

}  // namespace opreplay
