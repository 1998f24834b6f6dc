#pragma once
/// Small evidence, bounds and results for the tests of lib/compare.

#include <cstddef>
#include <string>
#include <vector>

#include "lib/base/numeric.h"
#include "lib/compare/compare.h"
#include "lib/compare/error_model.h"

namespace opreplay::test {

/// Dense bytes of `values`, rounded to the dtype.
inline std::vector<std::byte> stored(DType dtype, const std::vector<double>& values) {
  const std::size_t size = size_of(dtype);
  std::vector<std::byte> out(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i)
    store_element(dtype, values[i], out.data() + i * size);
  return out;
}

/// Evidence of a vector whose reference is `reference`.
inline Evidence vector_evidence(DType dtype, std::vector<double> reference) {
  Evidence e;
  e.dtype = dtype;
  e.reference.sizes = {static_cast<std::int64_t>(reference.size())};
  e.reference.data = std::move(reference);
  return e;
}

/// A bound of `tau` everywhere.
inline Bound flat_bound(std::size_t elements, double tau) {
  Bound bound;
  bound.tau.assign(elements, tau);
  return bound;
}

/// compare() of values given as doubles; an empty witness is none.
inline OutputComparison compared(const Evidence& e, const Bound& bound,
                                 const std::vector<double>& target,
                                 const std::vector<double>& witness = {}) {
  const DType dtype = component_type(e.dtype);
  return compare(e, bound, {stored(dtype, target)}, {stored(dtype, witness)});
}

/// No channel objects.
inline bool passes(const OutputComparison& c) {
  return c.bad == 0 && c.classes.nan == 0 && c.classes.inf == 0;
}

}  // namespace opreplay::test
