#pragma once
/// The shipped schema table (opspecs/schemas/torch-X.Y.txt): every operator schema of one torch
/// version, one a line. Loading it is a scan for names; lines are parsed when asked for.

#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lib/base/schema.h"

namespace opreplay {

/// Safe to use from several threads at once.
class SchemaTable : public SchemaSource {
 public:
  /// Takes the text of a table. Lines that are empty or start with '#' are skipped.
  explicit SchemaTable(std::string text);
  SchemaTable(const SchemaTable&) = delete;
  SchemaTable& operator=(const SchemaTable&) = delete;
  /// Reads a file. Throws Error{invalid_input} if it cannot be read.
  static SchemaTable load(const std::filesystem::path& file);

  /// Throws Error{invalid_input} if the line of `op` is not a schema.
  const Schema* find(std::string_view op) const override;
  /// The overload nearest to a name that lacks one, else the closest spelling.
  std::string nearest(std::string_view op) const override;
  /// The schema's text without its namespace, "softmax.int(Tensor self, ...) -> Tensor"; empty if
  /// the table has none.
  std::string_view text(std::string_view op) const;
  std::size_t size() const { return lines_.size(); }

 private:
  std::string text_;
  std::unordered_map<std::string_view, std::string_view> lines_;  // "aten::add.Tensor" -> its line
  mutable std::mutex mutex_;                                      // guards parsed_
  mutable std::unordered_map<std::string_view, Schema> parsed_;   // by the keys of lines_
};

/// The table shipped with the program for the torch version the worker is built for: found relative
/// to the executable or library (share/opreplay), or in the source tree. Loaded once.
const SchemaTable& shipped_schemas();

/// The folder that holds opspecs/ and device profiles: OPREPLAY_DATA if set, else relative to the
/// executable, else the source tree this library was built from.
/// Throws Error{internal} naming the places looked at.
std::filesystem::path data_folder();

/// A file of the data folder, "opspecs/...". Throws Error{invalid_input} if it cannot be read.
std::string read_data_file(const std::filesystem::path& file);

}  // namespace opreplay
