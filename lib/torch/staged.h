#pragma once
/// Staged runs: the op in a wider precision, with every input and every result of an operator it is
/// made of off by a random roundoff. What the model `generic` judges by (docs/oracle.md).

#include <string>
#include <vector>

#include "lib/torch/reference.h"

namespace opreplay {

struct StagedRuns {
  std::vector<Staged> outputs;  ///< by output of the reference; empty if there is a problem
  std::string problem;          ///< why the op cannot be judged so: "random: ..."
};

/// Depends on the case and its seed alone; leaves no state behind. Requires a reference that was
/// not rejected. Never throws for what an operator does.
///
/// Cost: 1 run that must reproduce the reference bit by bit, with uninitialised memory filled, 8
/// runs with roundoff u, 3 with one input element moved, and for half precision 8 with roundoff
/// u_T.
StagedRuns staged_runs(const ReferenceJob& job, const Reference& reference);

}  // namespace opreplay
