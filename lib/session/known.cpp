#include "lib/session/known.h"

#include <string_view>

namespace opreplay {
namespace {

/// "sim" names "sim" and "sim:faults.yaml".
bool names_device(const KnownFailure& entry, std::string_view device) {
  return entry.device == device || entry.device == device.substr(0, device.find(':'));
}

std::string text_of(const KnownFailure& entry) {
  return entry.link.empty() ? entry.why : entry.why + " (" + entry.link + ")";
}

}  // namespace

void apply_known(const std::vector<KnownFailure>& entries, const std::string& device,
                 CaseResult& result) {
  for (const KnownFailure& entry : entries) {
    const bool this_case = entry.case_text == result.planned.text;
    if (!names_device(entry, device) || !(this_case || entry.case_text.empty())) continue;
    if (entry.reason == to_string(result.verdict.reason))
      result.known = text_of(entry);
    else if (this_case && result.verdict.status == Status::pass)
      result.verdict.notes.push_back("passes, but is declared as known " + entry.reason + ": " +
                                     text_of(entry));
  }
}

}  // namespace opreplay
