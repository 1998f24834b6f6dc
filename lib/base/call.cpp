#include "opreplay/call.h"

namespace opreplay {
namespace {

bool multiply(std::int64_t a, std::int64_t b, std::int64_t& out) {
  return !__builtin_mul_overflow(a, b, &out);
}

}  // namespace

std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    // Overflow is reported by numel(); here it only must not be undefined.
    if (sizes[i] > 1 && !multiply(step, sizes[i], step)) step = 0;
  }
  return strides;
}

TensorDesc make_desc(DType dtype, std::vector<std::int64_t> sizes) {
  TensorDesc desc{dtype, std::move(sizes), {}, 0, {}};
  desc.strides = contiguous_strides(desc.sizes);
  return desc;
}

bool is_contiguous(const TensorDesc& desc) {
  for (std::int64_t size : desc.sizes)
    if (size == 0) return true;
  const auto dense = contiguous_strides(desc.sizes);
  for (std::size_t i = 0; i < dense.size(); ++i)
    if (desc.sizes[i] != 1 && desc.strides[i] != dense[i]) return false;
  return true;
}

std::optional<std::int64_t> numel(const TensorDesc& desc) {
  std::int64_t count = 1;
  bool empty = false;
  for (std::int64_t size : desc.sizes) {
    if (size < 0) return std::nullopt;
    if (size == 0) empty = true;
  }
  if (empty) return 0;
  for (std::int64_t size : desc.sizes)
    if (!multiply(count, size, count)) return std::nullopt;
  return count;
}

std::optional<std::int64_t> storage_elements(const TensorDesc& desc) {
  const auto count = numel(desc);
  if (!count || desc.offset < 0) return std::nullopt;
  if (*count == 0) return desc.offset;
  std::int64_t last = desc.offset;
  for (std::size_t i = 0; i < desc.sizes.size(); ++i) {
    std::int64_t reach = 0;
    if (desc.strides[i] < 0 || !multiply(desc.sizes[i] - 1, desc.strides[i], reach) ||
        __builtin_add_overflow(last, reach, &last))
      return std::nullopt;
  }
  return last == INT64_MAX ? std::nullopt : std::optional(last + 1);
}

const Value* find_arg(const OpCall& call, const std::string& name) {
  for (const Arg& arg : call.args)
    if (arg.name == name) return &arg.value;
  return nullptr;
}

Value* find_arg(OpCall& call, const std::string& name) {
  return const_cast<Value*>(find_arg(static_cast<const OpCall&>(call), name));
}

}  // namespace opreplay
