#pragma once
/// The parts of the fault file's parser; the whole is fault_file.h.

#include "harness/simdevice/fault.h"
#include "harness/simdevice/yaml_reader.h"

namespace opreplay::sim {

std::vector<Condition> parse_when(YamlReader& reader, const YAML::Node& node);
/// `do:`; fills effects, where and output of the fault.
void parse_effects(YamlReader& reader, const YAML::Node& node, Fault& fault);

/// {has: ..., value: ...} about elements: the value of `where:` and `row:`.
std::vector<ElementIs> parse_element_conditions(YamlReader& reader, const YAML::Node& node,
                                                const std::string& what, Range range);
std::optional<DType> parse_dtype_node(YamlReader& reader, const YAML::Node& node);

}  // namespace opreplay::sim
