#include "lib/judge/describe.h"

#include <fmt/format.h>

#include <cmath>
#include <csignal>

#include "lib/judge/messages.h"

namespace opreplay {
namespace {

/// The class of a number as a reader calls it.
std::string class_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Inf" : "-Inf";
  return "a finite value";
}

std::string last_line(const std::string& text) {
  const auto end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return {};
  const auto start = text.find_last_of('\n', end);
  return text.substr(start == std::string::npos ? 0 : start + 1,
                     end - (start == std::string::npos ? 0 : start + 1) + 1);
}

}  // namespace

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return fmt::format("{}", value);
}

std::string index_text(const std::vector<std::int64_t>& index) {
  return fmt::format("[{}]", fmt::join(index, ","));
}

std::string signal_name(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGABRT:
      return "SIGABRT";
    case SIGFPE:
      return "SIGFPE";
    case SIGBUS:
      return "SIGBUS";
    case SIGILL:
      return "SIGILL";
    case SIGKILL:
      return "SIGKILL";
    case SIGTERM:
      return "SIGTERM";
    case SIGTRAP:
      return "SIGTRAP";
    case SIGSYS:
      return "SIGSYS";
    default:
      return fmt::format("signal {}", signal);
  }
}

std::string element_text(const WorstElement& element) {
  return fmt::format("element {}: target {}, reference {}", index_text(element.index),
                     number_text(element.target), number_text(element.reference));
}

std::string class_difference_text(const OutputComparison& output) {
  const auto count = output.classes.nan + output.classes.inf;
  if (output.worst.empty())
    return fmt::format("class differs at {} of {} elements", count, output.elements);
  const WorstElement& first = output.worst.front();
  return fmt::format("{} expected at {} of {} elements ({})", class_text(first.reference), count,
                     output.elements, element_text(first));
}

std::string value_difference_text(const OutputComparison& output) {
  std::string text =
      fmt::format("{} of {} elements outside the bound", output.bad, output.elements);
  if (!output.worst.empty())
    text += fmt::format(" ({}, allowed difference {})", element_text(output.worst.front()),
                        number_text(output.worst.front().bound));
  return text + ", error/bound " + fmt::format("{:.3g}", output.worst_ratio);
}

std::string raised_text(const Raised& raised) {
  std::string text = first_line(raised.message);
  if (text.empty())
    text = fmt::format("{} exception without a text", to_string(raised.error_class));
  if (raised.stage == Stage::launch) return text;
  return fmt::format("{} (raised at {})", text, to_string(raised.stage));
}

std::string ending_text(const Outcome& outcome) {
  std::string how;
  switch (outcome.ending) {
    case Ending::crashed:
      how = fmt::format("killed by signal {} ({})", outcome.signal, signal_name(outcome.signal));
      break;
    case Ending::exited:
      how = fmt::format("process exited with code {}", outcome.exit_code);
      break;
    case Ending::hung:
      how = "no answer before the deadline";
      break;
    case Ending::lost:
      how = "worker lost";
      break;
    case Ending::answered:
      how = "answer is incomplete";
      break;
  }
  std::string text = fmt::format("{} at {}", how, to_string(outcome.stage));
  const std::string line = last_line(outcome.output_tail);
  return line.empty() ? text : text + ": " + line;
}

}  // namespace opreplay
