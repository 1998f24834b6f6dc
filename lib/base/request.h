#pragma once
/// What the supervisor sends a worker for one case, and the binary form of it and of the answer.
/// Resolved: the worker knows no YAML, no rules, no schema table but torch's own.

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "opreplay/case.h"
#include "opreplay/outcome.h"

namespace opreplay {

/// The error model that applies to an op, from its rule: `{model: softmax, reduce: dim}`.
struct OracleRule {
  std::string model;                              ///< empty = no rule
  std::map<std::string, std::string> attributes;  ///< model-specific, e.g. reduce -> "dim"
  bool operator==(const OracleRule&) const = default;
};

/// One case, ready to run: variations applied, every tensor's `values` set.
struct ReplayRequest {
  std::vector<OpCall> calls;  ///< the last call is the one judged
  Phase phase = Phase::forward;
  std::uint64_t seed = 0;
  OracleRule oracle;     ///< of the last call
  double tolerance = 1;  ///< factor on every bound of its error model, as a spec may ask
  bool operator==(const ReplayRequest&) const = default;
};

std::vector<std::byte> encode(const ReplayRequest& request);
std::vector<std::byte> encode(const Outcome& outcome);
/// Throw Error{internal} on truncated or malformed bytes, never read past them.
ReplayRequest decode_request(std::span<const std::byte> bytes);
Outcome decode_outcome(std::span<const std::byte> bytes);

}  // namespace opreplay
