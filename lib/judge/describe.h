#pragma once
/// Sentences about an outcome: the one-line detail of a verdict and the figures that reports print
/// under it. Numbers are in shortest round-trip form.

#include <string>
#include <vector>

#include "opreplay/outcome.h"

namespace opreplay {

/// "nan", "-inf", "0.1": shortest text that reads back as the same number.
std::string number_text(double value);

/// "[0,2,1]"
std::string index_text(const std::vector<std::int64_t>& index);

/// "SIGSEGV" for 11; "signal 99" where there is no name.
std::string signal_name(int signal);

/// "element [0,0,0,0]: target 0, reference nan"
std::string element_text(const WorstElement& element);

/// "NaN expected at 1 of 120 elements (element ...)". Requires a class difference.
std::string class_difference_text(const OutputComparison& output);

/// "3 of 120 elements outside the bound (element ...), error/bound 17.2". Requires bad
/// elements.
std::string value_difference_text(const OutputComparison& output);

/// The raised exception's first line, where it was raised if that was not at launch.
std::string raised_text(const Raised& raised);

/// How the process ended, in which stage, and the last line it wrote.
std::string ending_text(const Outcome& outcome);

}  // namespace opreplay
