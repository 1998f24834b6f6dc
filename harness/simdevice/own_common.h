#pragma once
/// What the own kernels share: the working type of a dtype, and products in the device's order.

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>

#include <cmath>

#include "harness/simdevice/summation.h"

namespace opreplay::sim {

/// An optional tensor that was not given; boxed calls know both forms.
inline bool is_absent(const c10::IValue& value) {
  return value.isNone() || (value.isTensor() && !value.toTensor().defined());
}

/// f64 works in f64, everything narrower in f32.
inline c10::ScalarType working_type(c10::ScalarType type) {
  return type == c10::kDouble ? c10::kDouble : c10::kFloat;
}

/// Calls `body` with a value of the C++ type that `type` works in.
template <class Body>
void with_working_type(c10::ScalarType type, Body body) {
  if (type == c10::kDouble) {
    body(double{});
  } else {
    body(float{});
  }
}

/// `values` as they are after being stored in `type` between two passes.
inline at::Tensor stored_between(const Arithmetic& how, const at::Tensor& values,
                                 c10::ScalarType type) {
  return how.narrow_intermediates ? values.to(type).to(values.scalar_type()) : values;
}

/// a * b + c. Fused: rounded once (f32 through f64, whose product is exact).
template <class T>
T multiply_add(T a, T b, T c) {
  return std::fma(a, b, c);
}
template <>
inline float multiply_add(float a, float b, float c) {
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b) +
                            static_cast<double>(c));
}

/// c[m, n] = a[m, k] * b[k, n]; all three dense.
template <class T>
void multiply(const Arithmetic& how, std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
              const T* b, T* c) {
  constexpr std::int64_t k_tile = 512;
  for (std::int64_t from = 0; from < n; from += k_tile) {
    const std::int64_t width = std::min(k_tile, n - from);
    for (std::int64_t row = 0; row < m; ++row) {
      const T* left = a + row * k;
      const T* right = b + from;
      if (how.order == Order::fused) {
        sum_terms<T>(how, k, width, c + row * n + from, [=](std::int64_t term, T* into) {
          for (std::int64_t j = 0; j < width; ++j)
            into[j] = multiply_add(left[term], right[term * n + j], into[j]);
        });
      } else {
        sum_terms<T>(how, k, width, c + row * n + from, [=](std::int64_t term, T* into) {
          for (std::int64_t j = 0; j < width; ++j) into[j] += left[term] * right[term * n + j];
        });
      }
    }
  }
}

/// Matrix product of [.., m, k] and [.., k, n] in the working type of `a`.
at::Tensor product(const Arithmetic& how, const at::Tensor& a, const at::Tensor& b);

/// Sums of a [terms, outputs] matrix over its first dim; with `means`, of the squared distances
/// from them.
at::Tensor column_sums(const Arithmetic& how, const at::Tensor& matrix);
at::Tensor column_square_sums(const Arithmetic& how, const at::Tensor& matrix,
                              const at::Tensor& means);

}  // namespace opreplay::sim
