#pragma once
/// Which values of a graph lie in one storage, as far as graph and schemas tell.

#include <cstdint>
#include <vector>

#include "lib/base/graph.h"
#include "lib/base/schema.h"

namespace opreplay {

/// Values with equal `id` share a storage if all of them are `certain`; else they may.
struct StorageRoot {
  std::int32_t id = -1;
  bool certain = true;
};

/// One root per value of `graph` (not of its subgraphs). Results follow the alias marks of the
/// schemas; operators that return a view or a copy, whichever is possible, are decided by the
/// geometry of argument and result where it tells, and are uncertain where it does not.
std::vector<StorageRoot> storage_roots(const Graph& graph, const SchemaSource& schemas);

}  // namespace opreplay
