#pragma once
/// Judges the values of one output: under the reference as it stands, under other formats of the
/// call's numbers that are as right, and, where none accepts them, by naming the lower format they
/// were computed in. docs/oracle.md, "Numbers" and "Levels".

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/compare/compare.h"
#include "lib/torch/reference.h"

namespace opreplay {

/// What one output's values say of the target and of the CPU in the tested dtype.
struct ValueResult {
  OutputComparison target;
  Witness witness;  ///< `ran` is false where the CPU has no say: exact models, no kernel in T
};

class ValueCheck {
 public:
  /// Both must outlive it. Requires that the job has a model.
  ValueCheck(const ReferenceJob& job, const Reference& reference)
      : job_(job), reference_(reference) {}

  /// `target` are the dense bytes of output `index`; `structure` is what is known of it already.
  ValueResult check(std::size_t index, std::span<const std::byte> target,
                    const OutputComparison& structure);

 private:
  using Bytes = std::span<const std::byte>;

  /// The call with its numbers in another format.
  struct Reading {
    ReferenceJob job;
    std::string note;  ///< of a result that is right in this one only
    std::optional<Reference> reference;
  };

  /// Computed when first asked for.
  const std::vector<Reading>& other_readings();
  void name_lower_format(std::size_t index, Bytes target, const Evidence& evidence,
                         const Bound& bound, OutputComparison& out) const;

  const ReferenceJob& job_;
  const Reference& reference_;
  std::optional<std::vector<Reading>> readings_;
};

}  // namespace opreplay
