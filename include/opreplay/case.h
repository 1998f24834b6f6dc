#pragma once
/// A case: call x variation x phase. Its canonical string is its name, filter and report key.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "opreplay/call.h"

namespace opreplay {

/// One change applied to a call: `values.nan@first:self`.
struct Variation {
  std::string family;             ///< "values"
  std::string member;             ///< "nan"
  std::string place;              ///< "first"; empty = the member needs none
  std::vector<std::string> args;  ///< tensors it applies to; empty = the family's default set
  bool operator==(const Variation&) const = default;
};

enum class Phase : std::uint8_t { forward, backward };

/// `calls` are the calls as the model made them; `variations` are applied on top, in order.
struct Case {
  std::vector<OpCall> calls;
  std::vector<Variation> variations;
  Phase phase = Phase::forward;
  std::uint64_t seed = 0;
  std::string data;               ///< hash naming literal data kept in a spec or run folder
  std::vector<std::string> grad;  ///< arguments whose gradient is asked for; empty = all possible
  bool operator==(const Case&) const = default;
};

/// CALL in canonical form: positional arguments in schema order, keyword-only as name=value.
/// Storage labels are a, b, c... in order of first use, and only on tensors that do share, so that
/// calls with equal sharing have equal text whatever labels they came with.
std::string to_string(const OpCall& call);
/// The canonical case string (grammar: docs/spec-format.md).
std::string to_string(const Case& c);
/// "values.nan@first:self"
std::string to_string(const Variation& variation);
/// One argument as it stands in a case string: `-1`, `1e-05`, `[f32[2,3], null]`, `"mean"`.
std::string to_string(const Value& value);
/// "f16[2,4;8,1+3]&a"
std::string to_string(const TensorDesc& desc);
/// "fwd" or "bwd".
std::string_view to_string(Phase phase);

/// xxh3-64 of the canonical CALL string.
std::uint64_t call_id(const OpCall& call);
/// xxh3-64 of the canonical case string.
std::uint64_t case_id(const Case& c);
/// 16 hex digits, as ids are written everywhere.
std::string id_text(std::uint64_t id);

}  // namespace opreplay
