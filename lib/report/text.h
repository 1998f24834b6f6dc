#pragma once
/// Sentences that every reporter prints alike.

#include <string>
#include <string_view>
#include <vector>

#include "lib/ledger/record.h"

namespace opreplay {

/// One printable line: control characters (a device may send any) become \x1b and the like.
std::string printable(std::string_view text);

/// "blocked wrong_class", "pass"
std::string headline(const Verdict& verdict);

/// The largest errors of each output with values outside its bound.
std::vector<std::string> figure_lines(const Outcome& outcome);

/// The worst elements of each output, but for the one that the verdict's detail quotes.
std::vector<std::string> worst_lines(const Record& record);

enum class Detail {
  brief,
  full,  ///< also every worst element kept, and the process's last output
};

/// What a person needs who sees the finding for the first time: detail, figures, notes, repro line.
/// Lines without indent.
std::vector<std::string> evidence_lines(const Record& record, Detail detail);

}  // namespace opreplay
