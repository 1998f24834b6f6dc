#include "opreplay/spec.h"

namespace opreplay {

std::string to_string(const Diagnostic& d) {
  std::string text = d.file;
  if (d.line > 0) text += ":" + std::to_string(d.line) + ":" + std::to_string(d.column);
  return text + ": " + d.message;
}

}  // namespace opreplay
