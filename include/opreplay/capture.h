#pragma once
/// Capture: a model file to op-specs, without torch, weights or execution.
/// The file's graph already holds every call's shapes, strides and dtypes.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "opreplay/spec.h"

namespace opreplay {

class SchemaTable;

/// Nodes of one target that became calls.
struct CapturedTarget {
  std::string target;  ///< as in the file: "torch.ops.aten.linear.default"
  std::int64_t count = 0;
  bool operator==(const CapturedTarget&) const = default;
};

/// Nodes of one target that did not, and why.
struct NotCaptured {
  std::string target, reason;
  std::int64_t count = 0;
  bool operator==(const NotCaptured&) const = default;
};

/// Which call a node became. Nodes are numbered in the order of the file, those of subgraphs right
/// after the node that holds them.
struct NodeCall {
  std::int64_t node = 0;
  std::size_t spec = 0, call = 0;  ///< specs[spec].calls[call]
  bool operator==(const NodeCall&) const = default;
};

struct CaptureResult {
  std::vector<OpSpec> specs;  ///< by op name; equal calls merged
  SpecSource source;
  std::int64_t nodes = 0;  ///< of the file, subgraphs included
  /// By target; the counts of both add up to `nodes`.
  std::vector<CapturedTarget> captured;
  std::vector<NotCaptured> not_captured;
  std::vector<NodeCall> node_calls;
};

struct CaptureOptions {
  /// Schemas to bind calls to; null = the shipped table.
  const SchemaTable* schemas = nullptr;
};

/// Captures a .pt2 file statically. Throws Error{invalid_input} if the file is
/// damaged or of another layout.
CaptureResult capture_file(const std::filesystem::path& file, const CaptureOptions& options = {});

}  // namespace opreplay
