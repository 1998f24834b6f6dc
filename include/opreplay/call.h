#pragma once
/// A call: one operator overload with the exact arguments a program passed.
/// The unit of everything: captured into specs, varied by the plan, replayed by the worker.

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "opreplay/dtype.h"
#include "opreplay/values.h"

namespace opreplay {

/// Geometry of a tensor: what the case string shows between brackets.
/// Strides and offset are in elements; strides are always filled in (never empty for rank > 0).
struct TensorDesc {
  DType dtype = DType::f32;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
  /// Tensors of a case with the same non-empty label share one storage.
  std::string storage;

  bool operator==(const TensorDesc&) const = default;
};

/// Row-major strides of `sizes` (a size of 0 or 1 counts as 1, as torch does).
std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& sizes);

/// A contiguous tensor with offset 0 and a storage of its own.
TensorDesc make_desc(DType dtype, std::vector<std::int64_t> sizes);

/// Strides equal the row-major ones, dims of size 1 not counted (torch's is_contiguous).
bool is_contiguous(const TensorDesc& desc);

/// Number of elements; nothing on a negative size or on overflow of 63 bits.
std::optional<std::int64_t> numel(const TensorDesc& desc);

/// Elements a storage must hold for this tensor, offset included; 0 for an empty tensor at offset
/// 0. Nothing on negative strides or overflow.
std::optional<std::int64_t> storage_elements(const TensorDesc& desc);

/// A tensor argument: its geometry, and beside it what a capture or a person says of its values.
/// Only `desc` belongs to the identity of a call.
struct TensorArg {
  TensorDesc desc;
  std::optional<Values> values;   ///< absent = the rule's domain, else standard normal
  std::vector<std::string> dims;  ///< names per dim (spec key `dims`)
  bool requires_grad = false;
  bool parameter = false;        ///< a weight or buffer of the model, not data
  bool storage_unknown = false;  ///< the capture could not see sharing
  bool on_cpu = false;           ///< stays on the CPU (0-dim CPU operands)
  bool operator==(const TensorArg&) const = default;
};

struct None {
  bool operator==(const None&) const = default;
};

/// A bare word: a dtype, layout, memory format or device given as an argument.
struct Word {
  std::string text;
  bool operator==(const Word&) const = default;
};

/// A value computed elsewhere in a graph, by its index there; never part of a case.
struct Ref {
  std::int32_t index = -1;
  bool operator==(const Ref&) const = default;
};

struct Value;
using List = std::vector<Value>;

/// One argument value. Numbers keep the kind they were written with: `1` and `1.0` differ for a
/// Scalar, and a number where the schema says Tensor stays a number (replayed as wrapped number).
struct Value {
  std::variant<None, bool, std::int64_t, double, std::complex<double>, std::string, Word, TensorArg,
               Ref, List>
      data;

  bool operator==(const Value& other) const = default;

  template <class T>
  const T* get() const {
    return std::get_if<T>(&data);
  }
  template <class T>
  T* get() {
    return std::get_if<T>(&data);
  }
  bool is_none() const { return std::holds_alternative<None>(data); }
};

/// A named argument; `keyword` ones are printed as name=value.
struct Arg {
  std::string name;  ///< empty while a call is not yet bound to a schema
  Value value;
  bool keyword = false;
  bool operator==(const Arg&) const = default;
};

/// One call of one overload. Bound (see lib/base/bind.h): every argument has its schema name,
/// positional ones come first in schema order without gaps, trailing defaults are dropped.
struct OpCall {
  std::string op;  ///< "aten.softmax.int"; overload "default" left out: "aten.relu"
  std::vector<Arg> args;
  bool operator==(const OpCall&) const = default;
};

/// The argument called `name`, or null.
const Value* find_arg(const OpCall& call, const std::string& name);
Value* find_arg(OpCall& call, const std::string& name);

/// Calls `visit(path, tensor)` for every tensor argument in order; lists give "tensors.0",
/// "tensors.1". Call may be const or not.
template <class Call, class Visit>
void for_each_tensor(Call& call, Visit visit) {
  auto walk = [&visit](auto& self, const std::string& path, auto& value) -> void {
    if (auto* tensor = value.template get<TensorArg>()) {
      visit(path, *tensor);
    } else if (auto* list = value.template get<List>()) {
      for (std::size_t i = 0; i < list->size(); ++i)
        self(self, path + "." + std::to_string(i), (*list)[i]);
    }
  };
  for (auto& arg : call.args) walk(walk, arg.name, arg.value);
}

}  // namespace opreplay
