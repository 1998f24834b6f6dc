#include <charconv>
#include <cmath>
#include <span>
#include <string>
#include <unordered_map>

#include "lib/base/case_parser.h"
#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "opreplay/case.h"

// Cases to text. The inverse is case_parser.cpp.

namespace opreplay {
namespace {

/// a, b, ... z, aa, ab...
std::string letters(std::size_t index) {
  std::string text;
  for (std::size_t rest = index + 1; rest > 0; rest = (rest - 1) / 26)
    text.insert(text.begin(), static_cast<char>('a' + (rest - 1) % 26));
  return text;
}

/// The labels that are printed for a group of calls: only shared storages have one.
class StorageNames {
 public:
  explicit StorageNames(std::span<const OpCall> calls) {
    for (const OpCall& call : calls)
      for (const Arg& arg : call.args) count(arg.value);
    // Numbered in a second pass: whether a label is shared is known only at the end of the first.
    if (uses_.empty()) return;
    for (const OpCall& call : calls)
      for (const Arg& arg : call.args) number(arg.value);
  }

  /// The name of `label`; empty if no other tensor has it.
  std::string_view find(const std::string& label) const {
    const auto found = names_.find(label);
    return found == names_.end() ? std::string_view() : found->second;
  }

 private:
  void count(const Value& value) {
    if (const auto* tensor = value.get<TensorArg>()) {
      if (!tensor->desc.storage.empty()) ++uses_[tensor->desc.storage];
    } else if (const auto* list = value.get<List>()) {
      for (const Value& element : *list) count(element);
    }
  }

  void number(const Value& value) {
    if (const auto* tensor = value.get<TensorArg>()) {
      const std::string& label = tensor->desc.storage;
      if (!label.empty() && uses_[label] > 1) names_.try_emplace(label, letters(names_.size()));
    } else if (const auto* list = value.get<List>()) {
      for (const Value& element : *list) number(element);
    }
  }

  std::unordered_map<std::string, int> uses_;
  std::unordered_map<std::string, std::string> names_;
};

void append(std::string& out, std::int64_t number) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}

void append(std::string& out, std::span<const std::int64_t> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += ',';
    append(out, numbers[i]);
  }
}

void append(std::string& out, const TensorDesc& desc, std::string_view storage) {
  out += name(desc.dtype);
  out += '[';
  append(out, std::span(desc.sizes));
  if (desc.strides != contiguous_strides(desc.sizes)) {
    out += ';';
    append(out, std::span(desc.strides));
  }
  if (desc.offset != 0) {
    out += '+';
    append(out, desc.offset);
  }
  out += ']';
  if (!storage.empty()) {
    out += '&';
    out += storage;
  }
}

/// As Python writes it: "(1+2j)", "(-0-infj)".
std::string complex_text(std::complex<double> number) {
  const auto part = [](double value) {
    if (std::isnan(value)) return std::string("nan");
    char buffer[32];
    return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  };
  const std::string imaginary = part(number.imag());
  return '(' + part(number.real()) + (imaginary.front() == '-' ? "" : "+") + imaginary + "j)";
}

/// Prints one value; `names` is null outside a call, where labels stay as they are.
class ValueWriter {
 public:
  ValueWriter(std::string& out, const StorageNames* names) : out_(out), names_(names) {}

  void write(const Value& value) { std::visit(*this, value.data); }

  void operator()(const None&) { out_ += "null"; }
  void operator()(bool value) { out_ += value ? "true" : "false"; }
  void operator()(std::int64_t value) { append(out_, value); }
  void operator()(double value) { out_ += float_text(value); }
  void operator()(const std::complex<double>& value) { out_ += complex_text(value); }
  void operator()(const std::string& value) { out_ += quoted(value); }
  void operator()(const Word& word) { out_ += word.text; }
  // Cases have no references; this is what a message about a graph's node shows.
  void operator()(const Ref& ref) { out_ += '%' + std::to_string(ref.index); }
  void operator()(const TensorArg& tensor) {
    const std::string& label = tensor.desc.storage;
    append(out_, tensor.desc, names_ ? names_->find(label) : std::string_view(label));
  }
  void operator()(const List& list) {
    out_ += '[';
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out_ += ", ";
      write(list[i]);
    }
    out_ += ']';
  }

 private:
  std::string& out_;
  const StorageNames* names_;
};

void append(std::string& out, const OpCall& call, const StorageNames& names) {
  out += call.op;
  out += '(';
  bool first = true;
  for (const Arg& arg : call.args) {
    if (!first) out += ", ";
    first = false;
    if (arg.keyword) {
      out += arg.name;
      out += '=';
    }
    ValueWriter(out, &names).write(arg.value);
  }
  out += ')';
}

void append_joined(std::string& out, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += ',';
    out += words[i];
  }
}

}  // namespace

std::string to_string(const Value& value) {
  std::string out;
  ValueWriter(out, nullptr).write(value);
  return out;
}

std::string to_string(const TensorDesc& desc) {
  std::string out;
  append(out, desc, desc.storage);
  return out;
}

std::string to_string(const Variation& variation) {
  std::string out = variation.family + '.' + variation.member;
  if (!variation.place.empty()) out += '@' + variation.place;
  if (!variation.args.empty()) {
    out += ':';
    append_joined(out, variation.args);
  }
  return out;
}

std::string_view to_string(Phase phase) { return phase == Phase::forward ? "fwd" : "bwd"; }

std::string to_string(const OpCall& call) {
  std::string out;
  append(out, call, StorageNames(std::span(&call, 1)));
  return out;
}

std::string to_string(const Case& c) {
  std::string out;
  const StorageNames names(c.calls);  // calls of one case share storages
  for (std::size_t i = 0; i < c.calls.size(); ++i) {
    if (i > 0) out += " -> ";
    append(out, c.calls[i], names);
  }
  for (std::size_t i = 0; i < c.variations.size(); ++i) {
    out += i == 0 ? ' ' : '+';
    out += to_string(c.variations[i]);
  }
  if (c.phase == Phase::backward) out += " bwd";
  if (c.seed != 0) out += " seed=" + std::to_string(c.seed);
  if (!c.data.empty()) out += " data=" + c.data;
  if (!c.grad.empty()) {
    out += " grad=";
    append_joined(out, c.grad);
  }
  return out;
}

void canonical_storage(std::span<OpCall> calls) {
  const StorageNames names(calls);
  const auto rename = [&names](const std::string&, TensorArg& tensor) {
    tensor.desc.storage = names.find(tensor.desc.storage);
  };
  for (OpCall& call : calls) for_each_tensor(call, rename);
}

std::uint64_t call_id(const OpCall& call) { return hash64(to_string(call)); }
std::uint64_t case_id(const Case& c) { return hash64(to_string(c)); }

std::string id_text(std::uint64_t id) {
  constexpr std::string_view k_digits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = text.size(); i-- > 0; id >>= 4) text[i] = k_digits[id & 15];
  return text;
}

}  // namespace opreplay
