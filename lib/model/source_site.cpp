#include "lib/model/source_site.h"

namespace opreplay {

std::string innermost_module(std::string_view module_stack) {
  if (const auto last = module_stack.rfind(';'); last != std::string_view::npos)
    module_stack.remove_prefix(last + 1);
  // Keys and types hold no comma in practice; a path never does.
  const auto type = module_stack.rfind(',');
  if (type == std::string_view::npos) return {};
  module_stack = module_stack.substr(0, type);
  const auto path = module_stack.rfind(',');
  if (path == std::string_view::npos) return {};
  return std::string(module_stack.substr(path + 1));
}

std::string last_line(std::string_view stack_trace) {
  constexpr std::string_view k_file = "File \"";
  constexpr std::string_view k_line = "\", line ";
  const auto file = stack_trace.rfind(k_file);
  if (file == std::string_view::npos) return {};
  stack_trace.remove_prefix(file + k_file.size());
  const auto line = stack_trace.find(k_line);
  if (line == std::string_view::npos) return {};
  std::string_view path = stack_trace.substr(0, line);
  for (const std::string_view packages : {"/site-packages/", "/dist-packages/"}) {
    if (const auto at = path.rfind(packages); at != std::string_view::npos)
      path.remove_prefix(at + packages.size());
  }
  const std::string_view number = stack_trace.substr(line + k_line.size());
  return std::string(path) + ":" +
         std::string(number.substr(0, number.find_first_not_of("0123456789")));
}

}  // namespace opreplay
