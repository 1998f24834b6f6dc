#include "lib/model/autocast.h"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <vector>

#include "lib/base/bind.h"
#include "lib/spec/schema_table.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

using Policy = AutocastTable::Policy;

Policy parse_policy(std::string_view word) {
  if (word == "lower") return Policy::lower;
  if (word == "f32") return Policy::f32;
  if (word == "f32_dtype") return Policy::f32_dtype;
  if (word == "widest") return Policy::widest;
  return word == "parts" ? Policy::parts : Policy::none;
}

bool is_cast(const TensorArg& tensor) {
  return is_floating(tensor.desc.dtype) && tensor.desc.dtype != DType::f64;
}

/// The strides a copy gets: dense, dims in memory in the order they had.
std::vector<std::int64_t> dense_strides(const TensorDesc& desc) {
  std::vector<std::size_t> order(desc.sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return desc.strides[a] > desc.strides[b] && desc.strides[b] != 0;
  });
  std::vector<std::int64_t> strides(desc.sizes.size());
  std::int64_t stride = 1;
  for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
    strides[*dim] = stride;
    stride *= std::max<std::int64_t>(desc.sizes[*dim], 1);
  }
  return strides;
}

void cast(TensorArg& tensor, DType dtype) {
  if (tensor.desc.dtype == dtype) return;
  tensor.desc.dtype = dtype;
  tensor.desc.strides = dense_strides(tensor.desc);
  tensor.desc.offset = 0;
  tensor.desc.storage.clear();
  tensor.storage_unknown = false;
}

/// f32 as soon as one of them is f32.
DType widest(const OpCall& call, DType lower) {
  DType result = lower;
  for_each_tensor(call, [&](const std::string&, const TensorArg& tensor) {
    if (tensor.desc.dtype == DType::f32) result = DType::f32;
  });
  return result;
}

void set_dtype(const Schema& schema, OpCall& call) {
  bool floating = false;
  for_each_tensor(
      call, [&](const std::string&, const TensorArg& tensor) { floating |= is_cast(tensor); });
  const Value* given = find_arg(call, "dtype");
  if (!floating || (given && !given->is_none()) || !schema.find("dtype")) return;
  std::erase_if(call.args, [](const Arg& arg) { return arg.name == "dtype"; });
  call.args.push_back({"dtype", {Word{"f32"}}, true});
  bind(call, schema);
}

}  // namespace

AutocastTable::AutocastTable(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string line, device_type, policy, op;
  while (std::getline(lines, line)) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    words >> device_type >> policy >> op;
    const Policy known = parse_policy(policy);
    if (!words || known == Policy::none || (device_type != "cpu" && device_type != "cuda"))
      throw Error(ExitCode::invalid_input,
                  "autocast table: expected 'cpu|cuda POLICY OPERATOR', found '" + line + "'");
    (device_type == "cpu" ? cpu_ : other_).emplace(op, known);
  }
}

Policy AutocastTable::find(std::string_view device_type, const std::string& op) const {
  const auto& table = device_type == "cpu" ? cpu_ : other_;
  const auto found = table.find(op);
  return found == table.end() ? Policy::none : found->second;
}

const AutocastTable& shipped_autocast() {
  static const AutocastTable table(read_data_file("opspecs/schemas/autocast-2.13.txt"));
  return table;
}

bool apply_autocast(const AutocastRegion& region, const AutocastTable& table, const Schema& schema,
                    OpCall& call) {
  if (!region.enabled) return true;
  const Policy policy = table.find(region.device_type, call.op);
  if (policy == Policy::parts) return false;
  if (policy == Policy::f32_dtype) set_dtype(schema, call);
  if (policy == Policy::none || policy == Policy::f32_dtype) return true;
  DType to = DType::f32;
  if (policy == Policy::lower) to = region.dtype;
  if (policy == Policy::widest) to = widest(call, region.dtype);
  for_each_tensor(call, [&](const std::string&, TensorArg& tensor) {
    if (is_cast(tensor)) cast(tensor, to);
  });
  return true;
}

}  // namespace opreplay
