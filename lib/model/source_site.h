#pragma once
/// Where in the model a node comes from, out of the texts the exporter stores.

#include <string>
#include <string_view>

namespace opreplay {

/// Path of the innermost module of an `nn_module_stack`: "key,path,type;key,path,type".
std::string innermost_module(std::string_view module_stack);

/// "file.py:212", the last frame of a `stack_trace` as Python prints it; empty if there is none.
/// A path inside site-packages or dist-packages starts at the package.
std::string last_line(std::string_view stack_trace);

}  // namespace opreplay
