#include "lib/spec/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "opreplay/error.h"

namespace opreplay {
void Diagnostics::add(int line, int column, std::string message) {
  if (listed_.size() < k_max_listed)
    listed_.push_back({file_, line, column, std::move(message)});
  else
    ++dropped_;
}

std::vector<Diagnostic> Diagnostics::take() const {
  std::vector<Diagnostic> all = listed_;
  std::stable_sort(all.begin(), all.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  if (dropped_ > 0)
    all.push_back({file_, 0, 0, fmt::format("{} more problems; mend those above first", dropped_)});
  return all;
}

void throw_if_any(const std::vector<Diagnostic>& diagnostics) {
  if (diagnostics.empty()) return;
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    text += to_string(diagnostic);
  }
  throw Error(ExitCode::invalid_input, text);
}

}  // namespace opreplay
