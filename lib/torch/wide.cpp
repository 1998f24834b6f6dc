#include "lib/torch/wide.h"

#include <ATen/Context.h>

#include <algorithm>

namespace opreplay {

at::Tensor widened(const at::Tensor& flat, c10::ScalarType type) {
  if (flat.is_floating_point()) return flat.to(type, false, /*copy=*/true);
  if (flat.is_complex()) return flat.to(c10::toComplexType(type), false, /*copy=*/true);
  return flat.clone();
}

c10::Scalar round_scalar(const c10::Scalar& value) {
  if (value.isFloatingPoint()) return static_cast<double>(static_cast<float>(value.toDouble()));
  if (value.isComplex()) {
    const auto z = value.toComplexDouble();
    return c10::complex<double>(static_cast<float>(z.real()), static_cast<float>(z.imag()));
  }
  return value;
}

RunMode wide_mode(const InputImage& image, c10::ScalarType type) {
  RunMode mode;
  mode.widen = type;
  const auto& tensors = image.tensors();
  const bool computes_in_f64 =
      std::any_of(tensors.begin(), tensors.end(), [](const InputTensor& input) {
        return input.desc.dtype == DType::f64 || input.desc.dtype == DType::c128;
      });
  if (!computes_in_f64) mode.scalar = round_scalar;
  return mode;
}

PlainKernels::PlainKernels()
    : mkldnn_(at::globalContext().userEnabledMkldnn()),
      flash_(at::globalContext().userEnabledFlashSDP()) {
  at::globalContext().setUserEnabledMkldnn(false);
  at::globalContext().setSDPUseFlash(false);
}

PlainKernels::~PlainKernels() {
  at::globalContext().setUserEnabledMkldnn(mkldnn_);
  at::globalContext().setSDPUseFlash(flash_);
}

}  // namespace opreplay
