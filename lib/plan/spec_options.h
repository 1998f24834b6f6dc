#pragma once
/// The options of a spec that steer a plan: `scope` and `vary` name families and their members.

#include <vector>

#include "lib/plan/family.h"
#include "opreplay/spec.h"

namespace opreplay {

/// Throws Error{invalid_input} with one line per word of `scope` and `vary` that names a family or
/// member which this version does not have.
void check_spec_options(const std::vector<OpSpec>& specs);

/// `families` as the spec's `vary` edits them: "x" and "+x" add, "-x" removes.
std::vector<const Family*> edited(std::vector<const Family*> families, const OpSpec& spec);

}  // namespace opreplay
