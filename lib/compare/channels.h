#pragma once
/// The channels behind compare(): each fills the figures of one output. Inside lib/compare only.

#include "lib/compare/compare.h"

namespace opreplay {

/// Bit by bit against the witness, or against the reference rounded to T.
void exact_channel(const Evidence& evidence, Result target, Result witness, OutputComparison& out);

/// What the bound's postcondition says of the target's elements, read as numbers.
void postcondition_channel(const Evidence& evidence, const Bound& bound, Result target,
                           OutputComparison& out);

/// Class and value of every element under `bound`, then what the whole says: RMS channel and lower
/// formats.
void value_channel(const Evidence& evidence, const Bound& bound, Result target, Result witness,
                   OutputComparison& out);

/// The bound is too loose to mean anything, or the reference says nothing although the inputs would
/// have let it (docs/oracle.md, evidence_weak).
bool weak_evidence(const Evidence& evidence, const Bound& bound);

}  // namespace opreplay
