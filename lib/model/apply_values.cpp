#include "lib/model/apply_values.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace opreplay {
namespace {

/// The statistics of one argument over all nodes that make the call.
struct Pooled {
  TensorStats stats;
  bool same_data = true;  ///< every node saw the same small tensor
};

/// Chan, Golub, LeVeque 1983: mean and deviation of two samples together.
void pool(Pooled& into, const TensorStats& more) {
  TensorStats& stats = into.stats;
  into.same_data &= stats.int_data == more.int_data && stats.data == more.data;
  stats.elements += more.elements;
  if (more.finite == 0) return;
  if (stats.finite == 0) {
    stats.min = more.min;
    stats.max = more.max;
  }
  const auto n = static_cast<double>(stats.finite), m = static_cast<double>(more.finite);
  const double delta = more.mean - stats.mean;
  const double squares =
      stats.std * stats.std * n + more.std * more.std * m + delta * delta * n * m / (n + m);
  stats.mean += delta * m / (n + m);
  stats.std = std::sqrt(squares / (n + m));
  stats.min = std::min(stats.min, more.min);
  stats.max = std::max(stats.max, more.max);
  stats.finite += more.finite;
}

std::optional<Values> recipe(const Pooled& pooled, DType dtype) {
  const TensorStats& stats = pooled.stats;
  Values values;
  if (pooled.same_data && (!stats.int_data.empty() || !stats.data.empty())) {
    values.kind = Values::Kind::data;
    values.int_data = stats.int_data;
    values.data = stats.data;
    return values;
  }
  if (stats.finite == 0) return std::nullopt;
  if (stats.min == stats.max) {
    values.kind = Values::Kind::fill;
    values.fill = stats.min;
  } else if (dtype == DType::boolean) {
    values.dist = Dist::bernoulli;
    values.p = stats.mean;
  } else if (is_integral(dtype)) {
    values.dist = Dist::randint;
    values.low = stats.min;
    values.high = stats.max + 1;
  } else {
    values.dist = Dist::normal;
    values.mean = stats.mean;
    values.std = stats.std;
    values.min = stats.min;
    values.max = stats.max;
  }
  return values;
}

}  // namespace

void apply_values(CaptureResult& capture, const GraphRun& run) {
  std::unordered_map<std::int64_t, const NodeCall*> calls;
  for (const NodeCall& node : capture.node_calls) calls.emplace(node.node, &node);

  using CallPlace = std::pair<std::size_t, std::size_t>;
  std::map<CallPlace, std::map<std::string, Pooled>> pooled;
  for (const NodeRun& node : run.nodes) {
    const auto call = calls.find(node.node);
    if (call == calls.end()) continue;
    auto& arguments = pooled[{call->second->spec, call->second->call}];
    for (const TensorStats& stats : node.tensors) {
      const auto [place, is_new] = arguments.try_emplace(stats.path, Pooled{stats});
      if (!is_new) pool(place->second, stats);
    }
  }

  for (const auto& entry : pooled) {
    const auto& [spec, index] = entry.first;
    OpCall& call = capture.specs[spec].calls[index].call;
    for_each_tensor(call, [&arguments = entry.second](const std::string& path, TensorArg& tensor) {
      const auto found = arguments.find(path);
      // A run on other sizes than the file's tells nothing about this call's data.
      if (found == arguments.end() || found->second.stats.desc.sizes != tensor.desc.sizes) return;
      tensor.values = recipe(found->second, tensor.desc.dtype);
    });
  }
  capture.source.capture = "run";
  for (OpSpec& spec : capture.specs) spec.source.capture = "run";
}

}  // namespace opreplay
