#pragma once
/// Static capture on a graph that is already read; the public step is opreplay/capture.h.

#include "lib/model/pt2_reader.h"
#include "lib/spec/schema_table.h"
#include "opreplay/capture.h"

namespace opreplay {

/// Every node with a schema and a tensor result becomes a call; every other one is listed with its
/// reason.
CaptureResult capture_graph(const Pt2Model& model, const SchemaTable& schemas);

}  // namespace opreplay
