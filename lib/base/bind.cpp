#include "lib/base/bind.h"

#include <algorithm>
#include <array>
#include <vector>

#include "lib/base/text.h"
#include "lib/base/torch_enums.h"
#include "opreplay/case.h"
#include "opreplay/error.h"

namespace opreplay {
namespace {

template <class Words>
bool contains(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// "cpu", "cuda:0": a lower-case name, then an index. Vendors bring names, so there is no list.
bool is_device(std::string_view word) {
  const std::string_view type = word.substr(0, word.find(':'));
  const auto lower = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (type.empty() || !std::all_of(type.begin(), type.end(), lower)) return false;
  if (type.size() == word.size()) return true;
  const std::string_view index = word.substr(type.size() + 1);
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !index.empty() && index.size() <= 3 && std::all_of(index.begin(), index.end(), digit);
}

bool is_number(const Value& value) {
  return value.get<bool>() || value.get<std::int64_t>() || value.get<double>() ||
         value.get<std::complex<double>>();
}

bool to_floating(Value& value) {
  if (const auto* integer = value.get<std::int64_t>()) value.data = static_cast<double>(*integer);
  return value.get<double>() != nullptr;
}

bool to_complex(Value& value) {
  if (to_floating(value)) value.data = std::complex<double>(*value.get<double>(), 0);
  return value.get<std::complex<double>>() != nullptr;
}

template <class Accept>
bool is_word(const Value& value, Accept accept) {
  const Word* word = value.get<Word>();
  return word && accept(word->text);
}

bool coerce_element(Value& value, SchemaBase base) {
  switch (base) {
    case SchemaBase::tensor:
      return value.get<TensorArg>() || is_number(value);
    case SchemaBase::integer:
    case SchemaBase::sym_int:
      return value.get<std::int64_t>() != nullptr;
    case SchemaBase::floating:
      return to_floating(value);
    case SchemaBase::complex:
      return to_complex(value);
    case SchemaBase::scalar:
      return is_number(value);
    case SchemaBase::boolean:
      return value.get<bool>() != nullptr;
    case SchemaBase::string:
      return value.get<std::string>() != nullptr;
    case SchemaBase::scalar_type:
      return is_word(value, [](const auto& w) { return parse_dtype(w).has_value(); });
    case SchemaBase::layout:
      return is_word(value, [](const auto& w) { return contains(k_layout_words, w); });
    case SchemaBase::memory_format:
      return is_word(value, [](const auto& w) { return contains(k_memory_format_words, w); });
    case SchemaBase::device:
      return is_word(value, is_device);
    case SchemaBase::generator:
    case SchemaBase::other:
      return false;
  }
  return false;
}

std::string_view base_text(SchemaBase base) {
  constexpr std::array<std::string_view, 14> k_names = {
      "Tensor", "int",        "SymInt", "float",        "complex", "Scalar",    "bool",
      "str",    "ScalarType", "Layout", "MemoryFormat", "Device",  "Generator", "another type"};
  return k_names[static_cast<std::size_t>(base)];
}

/// What a person can do about a value that does not fit, as far as it can be guessed.
std::string hint(const Value& value, const SchemaType& type) {
  if (type.base == SchemaBase::other || type.base == SchemaBase::generator)
    return "; a case cannot hold a value of this type";
  const Word* word = value.get<Word>();
  if (!word) return type.base == SchemaBase::scalar_type ? " (a dtype such as f32)" : "";
  switch (type.base) {
    case SchemaBase::string:
      return "; write strings in double quotes";
    case SchemaBase::scalar_type:
      return nearest_hint(nearest_dtype(word->text));
    case SchemaBase::layout:
      return nearest_hint(nearest_word(word->text, k_layout_words));
    case SchemaBase::memory_format:
      return nearest_hint(nearest_word(word->text, k_memory_format_words));
    default: {
      constexpr std::array<std::string_view, 5> k_constants = {"true", "false", "null", "nan",
                                                               "inf"};
      return nearest_hint(nearest_word(word->text, k_constants));
    }
  }
}

/// Equal as canonical text: NaN equals NaN, -0.0 does not equal 0.0.
bool same(const Value& a, const Value& b) {
  return a.data.index() == b.data.index() && to_string(a) == to_string(b);
}

class Binder {
 public:
  Binder(OpCall& call, const Schema& schema)
      : call_(call), schema_(schema), given_(schema.args.size()) {}

  std::optional<BindProblem> run() {
    if (schema_.vararg) return problem("takes any arguments ('...'); no case can be built for it");
    for (std::size_t i = 0; i < call_.args.size(); ++i)
      if (auto found = place(i)) return found;
    for (std::size_t i = 0; i < given_.size(); ++i)
      if (!given_[i] && !schema_.args[i].default_value)
        return problem("argument '" + schema_.args[i].name + "' (" +
                       type_text(schema_.args[i].type) + ") is missing");
    collect();
    return std::nullopt;
  }

 private:
  BindProblem problem(const std::string& what, std::optional<std::size_t> argument = {}) const {
    return {argument, schema_.op + ": " + what};
  }

  /// Finds the schema's argument that the call's `i`-th one stands for, and checks its type.
  std::optional<BindProblem> place(std::size_t i) {
    Arg& arg = call_.args[i];
    std::size_t slot = i;
    if (arg.name.empty()) {
      if (named_) return problem("a positional argument follows a named one", i);
      if (slot >= schema_.args.size() || schema_.args[slot].keyword_only)
        return problem("more than its " + std::to_string(slot) + " positional arguments are given",
                       i);
    } else {
      named_ = true;
      const auto found = slot_of(arg.name);
      if (!found)
        return problem("has no argument " + excerpt(arg.name) + nearest_argument(arg.name), i);
      slot = *found;
    }
    const SchemaArg& expected = schema_.args[slot];
    if (given_[slot]) return problem("argument '" + expected.name + "' is given twice", i);
    if (!coerce(arg.value, expected.type))
      return problem("argument '" + expected.name + "': expected " + type_text(expected.type) +
                         ", found " + excerpt(to_string(arg.value)) +
                         hint(arg.value, expected.type),
                     i);
    given_[slot] = std::move(arg.value);
    return std::nullopt;
  }

  /// The argument called `name`. static_runtime::clamp_nan_to_num has two of the same name: the
  /// first that is still free is meant, so that bound calls bind again.
  std::optional<std::size_t> slot_of(const std::string& name) const {
    std::optional<std::size_t> taken;
    for (std::size_t slot = 0; slot < given_.size(); ++slot) {
      if (schema_.args[slot].name != name) continue;
      if (!given_[slot]) return slot;
      taken = slot;
    }
    return taken;
  }

  std::string nearest_argument(const std::string& word) const {
    std::vector<std::string_view> names;
    for (const SchemaArg& arg : schema_.args) names.push_back(arg.name);
    return nearest_hint(nearest_word(word, names));
  }

  bool is_default(std::size_t slot) const {
    return !given_[slot] || (schema_.args[slot].default_value &&
                             same(*given_[slot], *schema_.args[slot].default_value));
  }

  void collect() {
    std::size_t positional = 0;  // one past the last positional argument that must be written
    for (std::size_t i = 0; i < given_.size(); ++i)
      if (!schema_.args[i].keyword_only && !is_default(i)) positional = i + 1;
    call_.op = schema_.op;
    call_.args.clear();
    for (std::size_t i = 0; i < given_.size(); ++i) {
      const SchemaArg& arg = schema_.args[i];
      if (arg.keyword_only ? is_default(i) : i >= positional) continue;
      if (!given_[i]) given_[i] = *arg.default_value;
      call_.args.push_back({arg.name, std::move(*given_[i]), arg.keyword_only});
    }
  }

  OpCall& call_;
  const Schema& schema_;
  std::vector<std::optional<Value>> given_;  // by index in schema_.args
  bool named_ = false;
};

}  // namespace

std::string type_text(const SchemaType& type) {
  std::string text(base_text(type.base));
  if (type.list) {
    if (type.optional_element) text += '?';
    text += '[' + (type.size > 0 ? std::to_string(type.size) : std::string()) + ']';
  }
  if (type.optional) text += '?';
  return text;
}

bool coerce(Value& value, const SchemaType& type) {
  if (value.get<Ref>()) return true;
  if (value.is_none()) return type.optional;
  if (!type.list) return coerce_element(value, type.base);
  List* list = value.get<List>();
  if (!list) {
    if (type.size == 0 || !coerce_element(value, type.base)) return false;
    value.data = List(static_cast<std::size_t>(type.size), value);
    return true;
  }
  for (Value& element : *list) {
    if (element.is_none() ? type.optional_element : element.get<Ref>() != nullptr) continue;
    if (!coerce_element(element, type.base)) return false;
  }
  return true;
}

std::optional<BindProblem> try_bind(OpCall& call, const Schema& schema) {
  return Binder(call, schema).run();
}

void bind(OpCall& call, const Schema& schema) {
  if (const auto problem = try_bind(call, schema))
    throw Error(ExitCode::invalid_input, problem->message);
}

}  // namespace opreplay
