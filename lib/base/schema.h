#pragma once
/// Operator schemas as torch prints them: argument names, types, defaults, alias marks.
/// Grammar: the "func" syntax of PyTorch's native_functions README, as str(FunctionSchema) prints
/// it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opreplay/call.h"

namespace opreplay {

/// Element type of an argument or return; `other` covers what no case can hold (Stream,
/// classes, lists of lists...).
enum class SchemaBase : std::uint8_t {
  tensor,
  integer,
  sym_int,
  floating,
  complex,
  scalar,
  boolean,
  string,
  scalar_type,
  layout,
  memory_format,
  device,
  generator,
  other,
};

struct SchemaType {
  SchemaBase base = SchemaBase::other;
  bool optional = false;          ///< "Tensor?"; of the whole list when `list`
  bool list = false;              ///< "int[]"
  bool optional_element = false;  ///< "Tensor?[]"
  int size = 0;                   ///< "int[2]": a lone number stands for that many
  bool operator==(const SchemaType&) const = default;
};

struct SchemaArg {
  std::string name;  ///< empty for unnamed returns
  SchemaType type;
  std::optional<Value> default_value;
  bool keyword_only = false;
  std::string alias;     ///< "a" in Tensor(a!) and Tensor(a -> *), "b|a"; empty = none or (*)
  bool written = false;  ///< Tensor(a!)
  bool operator==(const SchemaArg&) const = default;
};

struct Schema {
  std::string op;  ///< spec name: "aten.softmax.int", "aten.relu"
  std::vector<SchemaArg> args, returns;
  bool vararg =
      false;  ///< "..." as arguments or returns (prim ops); no case can be built for these
  bool operator==(const Schema&) const = default;

  /// The argument called `name`, or null.
  const SchemaArg* find(std::string_view name) const;
};

/// Defaults are in the form that bind gives to arguments; torch's enum numbers become words
/// (dtype=4 is i64, memory_format=0 is contiguous_format). Parses one line such as
/// "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"; a missing namespace
/// is taken as aten. Throws Error{invalid_input} with the column of the problem.
Schema parse_schema(std::string_view text);

/// "aten::add.Tensor" -> "aten.add.Tensor"; "aten::relu" -> "aten.relu"; ".default" is dropped.
std::string spec_name(std::string_view qualified);
/// "aten.add.Tensor" -> {"aten::add", "Tensor"}.
struct QualifiedName {
  std::string name, overload;
};
QualifiedName qualified_name(std::string_view spec_name);

/// Where schemas come from: the shipped table, a worker, a test.
class SchemaSource {
 public:
  virtual ~SchemaSource() = default;
  /// The schema of "aten.softmax.int", or null.
  virtual const Schema* find(std::string_view op) const = 0;
  /// A name close to `op`, for messages; empty if nothing is near.
  virtual std::string nearest(std::string_view op) const = 0;
};

}  // namespace opreplay
