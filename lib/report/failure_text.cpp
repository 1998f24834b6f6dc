#include "lib/report/text.h"
#include "opreplay/session.h"

namespace opreplay {

std::string failure_text(const CaseResult& result) {
  Record record;
  record.case_text = result.planned.text;
  record.outcome = result.outcome;
  record.verdict = result.verdict;
  record.known = result.known;
  record.repro = result.repro;
  std::string text = headline(result.verdict) + "  " + result.planned.text;
  for (const std::string& line : evidence_lines(record, Detail::full)) text += "\n  " + line;
  return text;
}

}  // namespace opreplay
