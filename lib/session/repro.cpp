#include "lib/session/repro.h"

namespace opreplay {

std::string shell_quote(const std::string& text) {
  constexpr std::string_view k_plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+%@";
  if (!text.empty() && text.find_first_not_of(k_plain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string repro_line(const PlannedCase& planned, const SessionOptions& options) {
  std::string line = "opreplay run ";
  if (planned.needs_spec && !planned.spec.empty()) {
    line += shell_quote(planned.spec) + " -k id:" + id_text(case_id(planned.c)) + " --vary " +
            (planned.family.empty() ? "none" : planned.family);
    if (planned.c.seed != 0) line += " --seed " + std::to_string(planned.c.seed);
  } else {
    line += shell_quote(planned.text);
  }
  line += " --device " + shell_quote(options.device);
  for (const auto& folder : options.rules) line += " --rules " + shell_quote(folder.string());
  if (options.timeout_s > 0) {
    std::string seconds = std::to_string(options.timeout_s);
    seconds.erase(seconds.find_last_not_of('0') + 1);
    if (seconds.back() == '.') seconds.pop_back();
    line += " --timeout " + seconds;
  }
  return line;
}

}  // namespace opreplay
