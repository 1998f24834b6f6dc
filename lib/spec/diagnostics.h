#pragma once
/// The problems of input files, collected so that a person sees all of them in one go.
/// Used by everything that reads YAML written by people: specs, rules, profiles, fault lists.

#include <cstddef>
#include <string>
#include <vector>

#include "opreplay/spec.h"

namespace opreplay {

/// Collects the diagnostics of one file.
class Diagnostics {
 public:
  /// Beyond this many problems the rest is only counted.
  static constexpr std::size_t k_max_listed = 200;

  explicit Diagnostics(std::string file) : file_(std::move(file)) {}

  /// Positions are 1-based; 0 = the file as a whole.
  void add(int line, int column, std::string message);

  const std::string& file() const { return file_; }
  std::size_t count() const { return listed_.size() + dropped_; }
  /// Further problems are only counted.
  bool full() const { return listed_.size() >= k_max_listed; }
  /// Everything listed, with a closing line when some were only counted.
  std::vector<Diagnostic> take() const;

 private:
  std::string file_;
  std::vector<Diagnostic> listed_;
  std::size_t dropped_ = 0;
};

/// Throws Error{invalid_input} with one line per diagnostic; returns if there is none.
void throw_if_any(const std::vector<Diagnostic>& diagnostics);

}  // namespace opreplay
