#pragma once
/// The shipped schema table (opspecs/schemas/torch-X.Y.txt): every operator schema of one torch
/// version, one a line. Loading it is a scan for names; lines are parsed when asked for.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lib/base/schema.h"

namespace opreplay {

class SchemaTable : public SchemaSource {
 public:
  /// Takes the text of a table. Lines that are empty or start with '#' are skipped.
  explicit SchemaTable(std::string text);
  /// Reads a file. Throws Error{invalid_input} if it cannot be read.
  static SchemaTable load(const std::filesystem::path& file);

  const Schema* find(std::string_view op) const override;
  std::string nearest(std::string_view op) const override;
  std::size_t size() const { return lines_.size(); }

 private:
  std::string text_;
  std::unordered_map<std::string, std::string_view> lines_;  // spec name -> line in text_
  mutable std::unordered_map<std::string, Schema> parsed_;
};

/// The table shipped with the program for the torch version the worker is built for: found relative
/// to the executable or library (share/opreplay), or in the source tree. Loaded once.
const SchemaTable& shipped_schemas();

/// The folder that holds opspecs/ and device profiles: OPREPLAY_DATA if set, else relative to the
/// executable, else the source tree this library was built from.
/// Throws Error{internal} naming the places looked at.
std::filesystem::path data_folder();

}  // namespace opreplay
