#include "lib/torch/wide.h"

#include <ATen/Context.h>

#include <algorithm>

#include "lib/base/numeric.h"
#include "lib/torch/dtype_map.h"

namespace opreplay {

namespace {

DType promoted(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::f64 || b == DType::f64) return DType::f64;
  return DType::f32;  // f16 and bf16 hold numbers that the other does not
}

/// All of the storage's tensors are single numbers.
bool is_zero_dim(const InputImage& image, std::size_t storage) {
  return std::all_of(image.tensors().begin(), image.tensors().end(), [&](const InputTensor& t) {
    return t.storage != storage || t.desc.sizes.empty();
  });
}

double rounded(double value, DType format) {
  // torch converts by way of f32.
  return round_to(format, is_half(format) ? round_to(DType::f32, value) : value);
}

}  // namespace

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

DType computed_dtype(const InputImage& image) {
  std::optional<DType> with_dims, without;
  for (const InputTensor& input : image.tensors()) {
    const DType dtype = component_type(input.desc.dtype);
    if (!is_floating(dtype)) continue;
    std::optional<DType>& common = input.desc.sizes.empty() ? without : with_dims;
    common = common ? promoted(*common, dtype) : dtype;
  }
  return with_dims ? *with_dims : without.value_or(DType::f32);
}

NumberFormat arithmetic_format(const InputImage& image) {
  return computed_dtype(image) == DType::f64 ? NumberFormat() : DType::f32;
}

c10::Scalar round_scalar(const c10::Scalar& value, NumberFormat format) {
  if (!format) return value;
  if (value.isFloatingPoint()) return rounded(value.toDouble(), *format);
  if (!value.isComplex()) return value;
  const auto z = value.toComplexDouble();
  return c10::complex<double>(rounded(z.real(), *format), rounded(z.imag(), *format));
}

at::Tensor widened(const InputImage& image, std::size_t storage, NumberFormat numbers,
                   c10::ScalarType type) {
  const at::Tensor& flat = image.storages()[storage].flat;
  if (flat.is_complex()) return flat.to(c10::toComplexType(type), false, /*copy=*/true);
  if (!flat.is_floating_point()) return flat.clone();
  if (numbers && is_zero_dim(image, storage) &&
      flat.scalar_type() != to_torch(computed_dtype(image)))
    return flat.to(to_torch(*numbers)).to(type, false, /*copy=*/true);
  return flat.to(type, false, /*copy=*/true);
}

RunInputs wide_inputs(const InputImage& image, NumberFormat numbers, c10::ScalarType type) {
  return {image, [&](const StorageImage&, std::size_t index) {
            return widened(image, index, numbers, type);
          }};
}

RunMode wide_mode(NumberFormat numbers, c10::ScalarType type) {
  RunMode mode;
  mode.widen = type;
  if (numbers)
    mode.scalar = [numbers](const c10::Scalar& value) { return round_scalar(value, numbers); };
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
