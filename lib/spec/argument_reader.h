#pragma once
/// Reads the arguments of a recorded call, guided by the types of its schema: the same text is a
/// tensor for a Tensor argument and a string for a str one.

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "lib/base/schema.h"
#include "lib/spec/yaml_reader.h"

namespace opreplay {

/// Reads the arguments of one call.
class ArgumentReader {
 public:
  /// `folder` is where the spec lies; data files must lie inside it.
  ArgumentReader(const std::filesystem::path& folder, Diagnostics& diagnostics)
      : folder_(folder), diagnostics_(diagnostics) {}

  /// The value of the argument at `path`, or nothing after a problem. Whether it fits the type is
  /// for bind to say.
  std::optional<Value> read(const YamlNode& node, const SchemaType& type, const std::string& path);

 private:
  std::optional<Value> read_element(const YamlNode& node, SchemaBase base, const std::string& path);
  std::optional<Value> read_tensor_map(const YamlNode& node, const std::string& path);
  std::optional<Value> read_scalar(const YamlNode& node, SchemaBase base, const std::string& path);
  void read_dims(const YamlNode& node, const std::string& path, TensorArg& tensor);
  void tie(const YamlNode& node, const std::string& path, const std::string& dim,
           std::int64_t size);

  const std::filesystem::path& folder_;
  Diagnostics& diagnostics_;
  std::map<std::string, std::int64_t> dim_sizes_;  // of the call's named dims
};

/// A tensor text such as "f32[2,3]" whose geometry is sound.
std::optional<TensorDesc> read_tensor_text(const YamlNode& node, const std::string& what,
                                           Diagnostics& diagnostics);

}  // namespace opreplay
