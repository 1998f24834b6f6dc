#pragma once
/// Running a case in a wider precision than the tested one: widened inputs, rounded numbers, plain
/// kernels. docs/oracle.md, "The reference".

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <optional>

#include "lib/torch/inputs.h"
#include "lib/torch/run.h"

namespace opreplay {

/// The format that numbers, and 0-dim operands of another dtype than the rest, are rounded to
/// before the op computes; nothing = they stay as they are.
using NumberFormat = std::optional<DType>;

/// f16 or bf16.
bool is_half(DType dtype);

/// The dtype of the floating tensors that decide what a call computes in: those with dims, else the
/// 0-dim ones; of several the widest, f32 for f16 beside bf16. A complex tensor counts as its
/// component. f32 where no tensor is floating.
DType computed_dtype(const InputImage& image);

/// As the op's arithmetic holds a number: f32, and unrounded where the call computes in f64.
NumberFormat arithmetic_format(const InputImage& image);

c10::Scalar round_scalar(const c10::Scalar& value, NumberFormat format);

/// A copy of one storage of the image in `type` (complex: its complex twin); integers and bools
/// stay what they are. 0-dim operands of another dtype than the computed one are rounded first.
at::Tensor widened(const InputImage& image, std::size_t storage, NumberFormat numbers,
                   c10::ScalarType type = at::kDouble);

/// The inputs of a wider run.
RunInputs wide_inputs(const InputImage& image, NumberFormat numbers, c10::ScalarType type);

/// The mode of a wider run.
RunMode wide_mode(NumberFormat numbers, c10::ScalarType type = at::kDouble);

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
