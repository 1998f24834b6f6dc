#pragma once
/// Running a case in a wider precision than the tested one: widened inputs, rounded scalars, plain
/// kernels. docs/oracle.md, "The reference".

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include "lib/torch/inputs.h"
#include "lib/torch/run.h"

namespace opreplay {

/// A copy in `type` (complex: its complex twin); integers and bools stay what they are.
at::Tensor widened(const at::Tensor& flat, c10::ScalarType type = at::kDouble);

/// A number as the op's compute type holds it: rounded to f32.
c10::Scalar round_scalar(const c10::Scalar& value);

/// The mode of a wider run. Scalars are rounded unless a tensor of the case is f64.
RunMode wide_mode(const InputImage& image, c10::ScalarType type = at::kDouble);

/// While it lives, fused attention and mkldnn kernels are off: their algorithms are what is tested.
class PlainKernels {
 public:
  PlainKernels();
  ~PlainKernels();
  PlainKernels(const PlainKernels&) = delete;
  PlainKernels& operator=(const PlainKernels&) = delete;

 private:
  bool mkldnn_, flash_;
};

}  // namespace opreplay
