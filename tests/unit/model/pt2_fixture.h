#pragma once
/// Writes archives and small models for the tests of lib/model, byte by byte, so that every field
/// can be wrong on purpose. Zip layout: PKWARE APPNOTE.TXT 6.3.10.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace opreplay::test {

/// One entry as written; the fields of its central header may lie.
struct ZipMember {
  std::string name, data;
  std::uint16_t flags = 0x808;  ///< as torch writes: sizes follow the data, names are UTF-8
  std::uint16_t method = 0;
  std::string extra;  ///< of the central header
  std::optional<std::uint32_t> size, stored, local_offset, crc;
  std::size_t padding = 0;  ///< bytes of a padding extra field in the local header
};

struct ZipOptions {
  bool zip64_end = false;               ///< writes the zip64 end record and locator too
  std::optional<std::uint64_t> count;   ///< announced number of entries
  std::optional<std::uint64_t> offset;  ///< announced offset of the directory
  std::string comment;
};

std::string zip_bytes(const std::vector<ZipMember>& members, const ZipOptions& options = {});

/// A file that is gone with the object.
class TempFile {
 public:
  TempFile(std::string_view name, std::string_view bytes) : path_(folder_.write(name, bytes)) {}
  const std::filesystem::path& path() const { return path_; }

 private:
  opreplay::testing::TemporaryFolder folder_;
  std::filesystem::path path_;
};

/// models/model.json of a model with a weight w f32[3,2], a user input x f32[2,3] and the node
/// y = mm(x, w).
nlohmann::json small_model();
/// Adds a value / a node to the graph of a model. `meta` as "f32[2,3;3,1+0]" is too much here:
/// sizes only, row-major.
void add_tensor(nlohmann::json& model, const std::string& name,
                const std::vector<std::int64_t>& sizes, int dtype = 7);
void add_node(nlohmann::json& model, const std::string& target,
              const std::vector<nlohmann::json>& inputs,
              const std::vector<nlohmann::json>& outputs);
/// The part of a model that a JSON pointer names.
nlohmann::json& part(nlohmann::json& model, const char* pointer);
nlohmann::json tensor_argument(const std::string& name);
nlohmann::json argument(const std::string& name, nlohmann::json value, int kind = 1);

/// The archive of `small_model()` or of an edited one.
std::string pt2_bytes(const nlohmann::json& model);
std::string pt2_bytes(const std::string& model_json);
std::vector<ZipMember> pt2_members(const std::string& model_json);

/// The message of the Error{invalid_input} that `action` throws; empty if it throws none. Any other
/// exception fails the test.
std::string refusal(const std::function<void()>& action);

}  // namespace opreplay::test
