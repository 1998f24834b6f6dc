#include "lib/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/judge/describe.h"

namespace opreplay {
namespace {

std::string prefix(const Outcome& outcome, const OutputComparison& output) {
  return outcome.outputs.size() > 1 ? output.name + ": " : std::string();
}

void append_tail(const std::string& tail, std::vector<std::string>& lines) {
  std::string_view rest = tail;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!line.empty()) lines.push_back("output: " + printable(line));
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result;
}

std::string headline(const Verdict& verdict) {
  std::string text(to_string(verdict.status));
  if (verdict.reason != Reason::none) text += " " + std::string(to_string(verdict.reason));
  return text;
}

std::vector<std::string> figure_lines(const Outcome& outcome) {
  std::vector<std::string> lines;
  for (const OutputComparison& o : outcome.outputs) {
    if (o.bad == 0) continue;
    std::string line = prefix(outcome, o);
    line += fmt::format("max abs {:.3g}, max rel {:.3g}, max ulp {:.3g}", o.max_abs, o.max_rel,
                        o.max_ulp);
    if (o.rms_ratio) line += fmt::format(", rms {:.3g}", *o.rms_ratio);
    line += fmt::format(", zeros {:.3g} %, nan {:.3g} %", 100 * o.zero_share, 100 * o.nan_share);
    if (!o.model.empty()) line += " (" + o.model + ")";
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> worst_lines(const Record& record) {
  std::vector<std::string> lines;
  for (const OutputComparison& o : record.outcome.outputs)
    for (const WorstElement& element : o.worst) {
      const std::string text = element_text(element);
      if (record.verdict.detail.find(text) != std::string::npos) continue;
      std::string line = prefix(record.outcome, o) + text;
      if (std::isfinite(element.target) && std::isfinite(element.reference))
        line += ", allowed difference " + number_text(element.bound);
      lines.push_back(std::move(line));
    }
  return lines;
}

std::vector<std::string> evidence_lines(const Record& record, Detail detail) {
  std::vector<std::string> lines;
  const auto append = [&](std::vector<std::string> more) {
    for (std::string& line : more) lines.push_back(std::move(line));
  };
  if (!record.verdict.detail.empty()) lines.push_back(printable(record.verdict.detail));
  append(figure_lines(record.outcome));
  if (detail == Detail::full) append(worst_lines(record));
  if (!record.known.empty()) lines.push_back("known: " + printable(record.known));
  for (const std::string& note : record.verdict.notes) lines.push_back("note: " + printable(note));
  if (detail == Detail::full) append_tail(record.outcome.output_tail, lines);
  if (!record.repro.empty() && record.verdict.status != Status::pass)
    lines.push_back("repro: " + printable(record.repro));
  return lines;
}

}  // namespace opreplay
