// Convolution of any rank, transposed or not: the input is unfolded into columns, one per output
// position, and multiplied with the weights. Zeros of the padding are terms like any other.

#include <ATen/core/Tensor.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>

#include <cmath>
#include <optional>
#include <vector>

#include "harness/simdevice/own_common.h"
#include "harness/simdevice/own_kernels.h"

namespace opreplay::sim {
namespace {

using Dims = std::vector<std::int64_t>;

std::int64_t volume(const Dims& sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product *= size;
  return product;
}

/// Spatial geometry; every list has one entry per spatial dim.
struct Geometry {
  Dims input, output, kernel, stride, padding, dilation;
  bool transposed = false;

  /// Input index along `dim` that output index `out` meets at kernel index `tap`; -1 = none.
  std::int64_t source(std::size_t dim, std::int64_t out, std::int64_t tap) const {
    std::int64_t index = 0;
    if (transposed) {
      const std::int64_t scaled = out + padding[dim] - tap * dilation[dim];
      if (scaled % stride[dim] != 0) return -1;
      index = scaled / stride[dim];
    } else {
      index = out * stride[dim] - padding[dim] + tap * dilation[dim];
    }
    return index >= 0 && index < input[dim] ? index : -1;
  }
};

/// Flat input index for every (tap, output position); -1 where the term is zero.
std::vector<std::int64_t> source_table(const Geometry& g) {
  const std::int64_t taps = volume(g.kernel), positions = volume(g.output);
  std::vector<std::int64_t> table;
  table.reserve(static_cast<std::size_t>(taps * positions));
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    for (std::int64_t position = 0; position < positions; ++position) {
      std::int64_t flat = 0, stride = 1, tap_rest = tap, position_rest = position;
      for (std::size_t dim = g.kernel.size(); dim-- > 0 && flat >= 0;) {
        const std::int64_t index =
            g.source(dim, position_rest % g.output[dim], tap_rest % g.kernel[dim]);
        flat = index < 0 ? -1 : flat + index * stride;
        stride *= g.input[dim];
        tap_rest /= g.kernel[dim];
        position_rest /= g.output[dim];
      }
      table.push_back(flat);
    }
  }
  return table;
}

/// One group of one sample: weights [outputs, channels * taps] times columns.
template <class T>
void convolve(const Arithmetic& how, const T* input, const T* weights,
              const std::vector<std::int64_t>& table, std::int64_t channels, std::int64_t outputs,
              std::int64_t input_volume, std::int64_t positions, T* out) {
  const auto table_size = static_cast<std::int64_t>(table.size());
  std::vector<T> columns(static_cast<std::size_t>(channels * table_size));
  for (std::int64_t channel = 0; channel < channels; ++channel)
    for (std::int64_t i = 0; i < table_size; ++i) {
      const std::int64_t source = table[static_cast<std::size_t>(i)];
      columns[static_cast<std::size_t>(channel * table_size + i)] =
          source < 0 ? T{0} : input[channel * input_volume + source];
    }
  const std::int64_t terms = positions == 0 ? 0 : channels * table_size / positions;
  multiply<T>(how, outputs, positions, terms, weights, columns.data(), out);
}

Dims spatial(const at::Tensor& tensor) {
  return {tensor.sizes().begin() + 2, tensor.sizes().end()};
}

}  // namespace

void own_convolution(const Arithmetic& how, c10::ArrayRef<c10::IValue> inputs,
                     const std::vector<at::Tensor>& outputs) {
  const at::Tensor& out = outputs[0];
  const auto type = working_type(out.scalar_type());
  const at::Tensor input = inputs[0].toTensor().to(type).contiguous();
  at::Tensor weight = inputs[1].toTensor().to(type);
  const bool transposed = inputs[6].toBool();
  const std::int64_t groups = inputs[8].toInt();
  if (out.numel() == 0) return;
  // The gaps between the taps of a transposed convolution are no terms: with a weight that is not
  // finite, zeros in their place would give NaN. The CPU's order stands; but in half precision the
  // CPU rounds every partial sum.
  if (transposed && !at::isfinite(weight).all().item<bool>()) {
    if (type == out.scalar_type() || how.narrow_intermediates) return;
    const std::optional<at::Tensor> bias =
        is_absent(inputs[2]) ? std::nullopt : std::optional(inputs[2].toTensor().to(type));
    out.copy_(at::convolution(input, weight, bias, inputs[3].toIntVector(), inputs[4].toIntVector(),
                              inputs[5].toIntVector(), transposed, inputs[7].toIntVector(),
                              groups));
    return;
  }

  const std::int64_t taps = volume(spatial(weight));
  const std::int64_t channels = input.size(1) / groups, made = out.size(1) / groups;
  if (transposed)  // [channels, made, taps] per group to [made, channels, taps]
    weight = weight.reshape({groups, channels, made, taps}).transpose(1, 2);
  weight = weight.reshape({groups, made, channels * taps}).contiguous();

  Geometry geometry{spatial(input),
                    spatial(out),
                    spatial(inputs[1].toTensor()),
                    inputs[3].toIntVector(),
                    inputs[4].toIntVector(),
                    inputs[5].toIntVector(),
                    transposed};
  const auto table = source_table(geometry);
  const std::int64_t positions = volume(geometry.output), in_volume = volume(geometry.input);
  at::Tensor values = at::empty({out.size(0), groups, made, positions}, input.options());
  with_working_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t sample = 0; sample < out.size(0); ++sample)
      for (std::int64_t group = 0; group < groups; ++group)
        convolve<T>(how,
                    input.const_data_ptr<T>() + (sample * groups + group) * channels * in_volume,
                    weight.const_data_ptr<T>() + group * made * channels * taps, table, channels,
                    made, in_volume, positions,
                    values.mutable_data_ptr<T>() + (sample * groups + group) * made * positions);
  });
  values =
      stored_between(how, values.view({out.size(0), out.size(1), positions}), out.scalar_type());
  if (!is_absent(inputs[2])) values = values.add(inputs[2].toTensor().to(type).unsqueeze(1));
  out.copy_(values.view(out.sizes()));
}

}  // namespace opreplay::sim
