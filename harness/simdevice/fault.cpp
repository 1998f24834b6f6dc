#include "harness/simdevice/fault.h"

#include <algorithm>
#include <cmath>

namespace opreplay::sim {

bool Comparison::holds(double number) const {
  const double left = modulus == 0 ? number : std::fmod(number, static_cast<double>(modulus));
  switch (op) {
    case Op::eq:
      return left == value;
    case Op::ne:
      return left != value;
    case Op::lt:
      return left < value;
    case Op::le:
      return left <= value;
    case Op::gt:
      return left > value;
    case Op::ge:
      return left >= value;
  }
  return false;
}

bool is_elementwise(Has has) {
  return has != Has::duplicate_index && has != Has::out_of_range && has != Has::ties &&
         has != Has::constant;
}

bool matches_glob(const std::string& pattern, const std::string& text) {
  std::size_t p = 0, t = 0, star = std::string::npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (star != std::string::npos) {  // let the last star take one character more
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool matches(const Fault& fault, const std::string& op) {
  return std::any_of(fault.ops.begin(), fault.ops.end(),
                     [&](const std::string& pattern) { return matches_glob(pattern, op); });
}

}  // namespace opreplay::sim
