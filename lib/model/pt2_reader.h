#pragma once
/// Reads .pt2 files (torch.export.save): a zip archive with the graph as JSON and the weights as
/// raw bytes (torch >= 2.9) or pickled (earlier ones: such graphs are captured, but cannot be run).
/// No weights are read, nothing is executed, nothing is unpickled.
/// Format: torch/_export/serde/schema.py, schema version 8. Next: opreplay/capture.h.

#include <filesystem>

#include "lib/base/graph.h"
#include "opreplay/spec.h"

namespace opreplay {

struct Pt2Model {
  Graph graph;
  SpecSource source;  ///< `capture` is left empty
};

/// Reads and checks the whole graph. Throws Error{invalid_input} naming the file and the archive
/// entry, byte or JSON path if it is damaged, of another layout (with what to do about it), or too
/// large to read in bounded memory.
Pt2Model read_pt2(const std::filesystem::path& file);

}  // namespace opreplay
