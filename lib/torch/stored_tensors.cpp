#include "lib/torch/stored_tensors.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fcntl.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lib/torch/dtype_map.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

/// Leaves in the order in which pytree flattens tuples, lists and dicts.
void flatten(const c10::IValue& value, std::vector<c10::IValue>& leaves) {
  if (value.isTuple()) {
    for (const c10::IValue& item : value.toTupleRef().elements()) flatten(item, leaves);
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) flatten(item, leaves);
  } else if (value.isGenericDict()) {
    for (const auto& item : value.toGenericDict()) flatten(item.value(), leaves);
  } else {
    leaves.push_back(value);
  }
}

}  // namespace

StoredTensors::StoredTensors(std::string file, std::int64_t max_bytes)
    : file_(std::move(file)), bytes_left_(static_cast<std::uint64_t>(max_bytes)) {
  fd_ = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) {
    throw Error(ExitCode::invalid_input, file_ + ": cannot be opened: " + std::strerror(errno));
  }
}

StoredTensors::~StoredTensors() { ::close(fd_); }

void StoredTensors::spend(std::uint64_t bytes, const std::string& what) {
  if (bytes > bytes_left_) {
    throw Error(ExitCode::invalid_input, file_ + ": " + what + " needs " + std::to_string(bytes) +
                                             " bytes, " + std::to_string(bytes_left_) +
                                             " are left; raise --max-bytes");
  }
  bytes_left_ -= bytes;
}

void StoredTensors::read(std::uint64_t offset, char* to, std::uint64_t size) const {
  while (size > 0) {
    const ssize_t n = ::pread(fd_, to, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      throw Error(ExitCode::invalid_input, file_ + ": no bytes at offset " +
                                               std::to_string(offset) +
                                               "; the file has changed since it was read");
    }
    to += n;
    offset += static_cast<std::uint64_t>(n);
    size -= static_cast<std::uint64_t>(n);
  }
}

at::Tensor StoredTensors::tensor(const GraphInput& input) {
  if (!input.stored || !input.problem.empty()) {
    throw Error(ExitCode::invalid_input,
                file_ + ": '" + input.target + "' cannot be rebuilt: " + input.problem);
  }
  const auto options = at::TensorOptions(to_torch(input.desc.dtype));
  const std::uint64_t size = input.stored->size;
  if (size == 0) {
    // Saved without data (or without elements): torch reads zeros.
    const auto elements = static_cast<std::uint64_t>(numel(input.desc).value_or(0));
    spend(elements * size_of(input.desc.dtype), "'" + input.target + "'");
    return at::zeros(input.desc.sizes, options);
  }
  auto [place, is_new] = storages_.try_emplace(input.stored->offset);
  if (is_new) {
    spend(size, "'" + input.target + "'");
    // A multiple of every element size, so that the bytes can be viewed as any dtype.
    const auto padded = static_cast<std::int64_t>((size + 15) / 16 * 16);
    place->second = at::empty({padded}, at::TensorOptions(at::kByte)).zero_();
    read(input.stored->offset, static_cast<char*>(place->second.data_ptr()), size);
  }
  return place->second.view(to_torch(input.desc.dtype))
      .as_strided(input.desc.sizes, input.desc.strides, input.desc.offset)
      .detach();
}

std::vector<c10::IValue> StoredTensors::sample_inputs(const StoredBytes& stored) {
  spend(stored.size, "the sample inputs");
  std::vector<char> bytes(stored.size);
  read(stored.offset, bytes.data(), stored.size);
  std::vector<c10::IValue> leaves;
  flatten(torch::jit::pickle_load(bytes), leaves);
  return leaves;
}

}  // namespace opreplay
