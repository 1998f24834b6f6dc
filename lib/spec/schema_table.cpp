#include "lib/spec/schema_table.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "lib/base/text.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

/// The file of the torch version that the worker of this release is built for.
constexpr std::string_view k_shipped = "opspecs/schemas/torch-2.13.txt";

/// "aten.add.Tensor" -> "aten::add.Tensor", the spelling of the table's keys.
std::string table_key(std::string_view op) {
  const QualifiedName name = qualified_name(op);
  return name.overload.empty() ? name.name : name.name + '.' + name.overload;
}

std::string read_table(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  std::string text(in ? static_cast<std::size_t>(in.tellg()) : 0, '\0');
  in.seekg(0);
  if (!in.read(text.data(), static_cast<std::streamsize>(text.size())))
    throw Error(ExitCode::invalid_input, file.string() +
                                             ": cannot read the table; set OPREPLAY_DATA to "
                                             "the folder that holds opspecs/");
  return text;
}

}  // namespace

SchemaTable::SchemaTable(std::string text) : text_(std::move(text)) {
  // About 100 bytes a line: one allocation of the buckets instead of a dozen rehashes.
  lines_.reserve(text_.size() / 80 + 1);
  std::string_view rest = text_;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!line.empty() && line.front() != '#') lines_.emplace(line.substr(0, line.find('(')), line);
  }
}

SchemaTable SchemaTable::load(const std::filesystem::path& file) {
  return SchemaTable(read_table(file));
}

const Schema* SchemaTable::find(std::string_view op) const {
  const auto line = lines_.find(table_key(op));
  if (line == lines_.end()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (const auto known = parsed_.find(line->first); known != parsed_.end()) return &known->second;
  return &parsed_.emplace(line->first, parse_schema(line->second)).first->second;
}

std::string_view SchemaTable::text(std::string_view op) const {
  const auto line = lines_.find(table_key(op));
  if (line == lines_.end()) return {};
  const auto name = line->second.find("::");
  return line->second.substr(name == std::string_view::npos ? 0 : name + 2);
}

std::string SchemaTable::nearest(std::string_view op) const {
  if (std::string in_aten = "aten." + std::string(op); lines_.contains(table_key(in_aten)))
    return in_aten;
  const std::string key = table_key(op);
  const std::string prefix = key + '.';
  std::string_view overload, spelling;
  std::size_t best = typo_cap(key.size());
  for (const auto& [name, line] : lines_) {
    if (name.starts_with(prefix)) {
      const auto rank = [](std::string_view text) { return std::pair(text.size(), text); };
      if (overload.empty() || rank(name) < rank(overload)) overload = name;
      continue;
    }
    const std::size_t distance = edit_distance(key, name, best);
    if (distance > best) continue;
    // The map has no order: equal distances go to the first in the alphabet.
    if (distance < best || spelling.empty() || name < spelling) spelling = name;
    best = distance;
  }
  return spec_name(overload.empty() ? spelling : overload);
}

std::string read_data_file(const std::filesystem::path& file) {
  return read_table(data_folder() / file);
}

const SchemaTable& shipped_schemas() {
  static const SchemaTable table = SchemaTable::load(data_folder() / k_shipped);
  return table;
}

}  // namespace opreplay
