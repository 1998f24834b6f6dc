#pragma once
/// Notices when an operator ran on the CPU behind the target's back, while it runs.

#include <ATen/record_function.h>

#include <string>

namespace opreplay {

/// Watches every dispatcher call of this thread between construction and destruction, those made
/// inside the launched operator only.
///  - at::native::cpu_fallback leaves a child record aten::_to_cpu, and nothing else does;
///  - a kernel that copies device tensors to the CPU itself leaves _to_copy or copy_ records from
///  the
///    device (reads of one element excepted: they are how a kernel reads a scalar).
/// A vendor that goes below the dispatcher is not seen; only its own switches tell.
class FallbackWatch {
 public:
  FallbackWatch();
  ~FallbackWatch();
  FallbackWatch(const FallbackWatch&) = delete;
  FallbackWatch& operator=(const FallbackWatch&) = delete;

  bool found() const { return !evidence_.empty(); }
  /// "aten::_to_cpu inside aten::silu"; empty if nothing was seen.
  const std::string& evidence() const { return evidence_; }

 private:
  friend struct FallbackCallbacks;
  at::CallbackHandle handle_;
  int depth_ = 0;
  std::string outermost_;
  std::string evidence_;
};

}  // namespace opreplay
