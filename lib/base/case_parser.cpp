#include "lib/base/case_parser.h"

#include <array>
#include <charconv>
#include <limits>

#include "lib/base/scanner.h"
#include "lib/base/text.h"
#include "opreplay/error.h"

// Text to cases. Every message names the column; the limits keep hostile text cheap.

namespace opreplay {
namespace {

constexpr int k_max_nesting = 64;
constexpr std::size_t k_max_rank = 64;

/// Reads values, tensors and variations: what needs no schema.
class ValueReader {
 public:
  explicit ValueReader(Scanner& in) : in_(in) {}

  Value value(int depth = 0) {
    const std::size_t start = in_.position();
    switch (in_.peek()) {
      case '"':
        return {in_.quoted_string()};
      case '[':
        return {list(depth)};
      case '(':
        return {complex()};
      case '-':
        return in_.number();
      default:
        break;
    }
    if (in_.peek() >= '0' && in_.peek() <= '9') return in_.number();
    const std::string_view word = in_.word(":");
    if (word.empty()) in_.fail("an argument value");
    if (in_.accept("[")) {
      TensorArg tensor;
      tensor.desc = tensor_after(word, start);
      return {std::move(tensor)};
    }
    if (word == "null") return {None{}};
    if (word == "true") return {true};
    if (word == "false") return {false};
    if (word == "nan") return {std::numeric_limits<double>::quiet_NaN()};
    if (word == "inf") return {std::numeric_limits<double>::infinity()};
    return {Word{std::string(word)}};
  }

  TensorDesc tensor() {
    const std::size_t start = in_.position();
    const std::string_view word = in_.word();
    if (word.empty()) in_.fail("a tensor such as f32[2,3]");
    in_.expect("[");
    return tensor_after(word, start);
  }

  Variation variation() {
    constexpr std::string_view k_extra = "-";
    Variation out;
    out.family = required(in_.word(k_extra), "a family of variations");
    in_.expect(".");
    out.member = required(in_.word(k_extra), "a member of the family");
    if (in_.accept("@")) out.place = required(in_.word("-.="), "a place such as first");
    if (in_.accept(":")) out.args = names();
    return out;
  }

  /// Argument names or paths ("tensors.1"), separated by commas.
  std::vector<std::string> names() {
    std::vector<std::string> out;
    do {
      out.push_back(required(in_.word("."), "an argument name"));
    } while (in_.accept(","));
    return out;
  }

 private:
  std::string required(std::string_view word, std::string_view expected) const {
    if (word.empty()) in_.fail(expected);
    return std::string(word);
  }

  List list(int depth) {
    if (depth >= k_max_nesting) in_.fail("lists nested at most 64 deep");
    in_.expect("[");
    in_.skip_spaces();
    List out;
    if (in_.accept("]")) return out;
    do {
      in_.skip_spaces();
      out.push_back(value(depth + 1));
      in_.skip_spaces();
    } while (in_.accept(","));
    if (!in_.accept("]")) in_.fail("',' or ']' in the list");
    return out;
  }

  std::complex<double> complex() {
    in_.expect("(");
    const double real = in_.component();
    if (in_.peek() != '-' && !in_.accept("+")) in_.fail("'+' or '-' before the imaginary part");
    const double imaginary = in_.component();
    if (!in_.accept("j)")) in_.fail("'j)' after the imaginary part, as in (1+2j)");
    return {real, imaginary};
  }

  /// The rest of a tensor whose dtype is `word`, written at `start`; the bracket is taken.
  TensorDesc tensor_after(std::string_view word, std::size_t start) {
    const auto dtype = parse_dtype(word);
    if (!dtype)
      in_.fail_at(start,
                  "expected a dtype, found " + excerpt(word) + nearest_hint(nearest_dtype(word)));
    TensorDesc desc;
    desc.dtype = *dtype;
    in_.skip_spaces();
    if (in_.peek() >= '0' && in_.peek() <= '9') desc.sizes = dims("a size of at least 0");
    if (in_.peek() == '-') in_.fail("a size of at least 0");
    desc.strides = contiguous_strides(desc.sizes);
    const std::size_t at_strides = in_.position();
    if (in_.accept(";")) {
      in_.skip_spaces();
      desc.strides = dims("a stride of at least 0");
      if (desc.strides.size() != desc.sizes.size())
        in_.fail_at(at_strides, "expected " + std::to_string(desc.sizes.size()) +
                                    " strides, one per size, found " +
                                    std::to_string(desc.strides.size()));
    }
    if (in_.accept("+")) desc.offset = in_.natural("an offset of at least 0");
    if (!in_.accept("]")) in_.fail("',', ';', '+' or ']' in the tensor");
    check_size(desc, start);
    if (in_.accept("&")) desc.storage = required(in_.word(), "a storage label");
    return desc;
  }

  std::vector<std::int64_t> dims(std::string_view expected) {
    std::vector<std::int64_t> out;
    do {
      in_.skip_spaces();
      if (out.size() == k_max_rank) in_.fail("at most 64 dims");
      out.push_back(in_.natural(expected));
      in_.skip_spaces();
    } while (in_.accept(","));
    return out;
  }

  /// Every count derived from a parsed tensor fits 63 bits: elements, storage, bytes; and the
  /// product of the sizes also where one of them is 0, since strides are computed from it.
  void check_size(const TensorDesc& desc, std::size_t start) const {
    TensorDesc filled = desc;
    for (std::int64_t& size : filled.sizes)
      if (size == 0) size = 1;
    const auto elements = storage_elements(filled);
    std::int64_t bytes = 0;
    if (!numel(filled) || !elements ||
        __builtin_mul_overflow(*elements, static_cast<std::int64_t>(size_of(desc.dtype)), &bytes))
      in_.fail_at(start, "the tensor needs more than 2^63 bytes");
  }

  Scanner& in_;
};

class CaseReader {
 public:
  CaseReader(std::string_view text, const SchemaSource& schemas)
      : in_(text, "case string"), values_(in_), schemas_(schemas) {}

  Case run() {
    Case out;
    in_.skip_spaces();
    do {
      in_.skip_spaces();
      out.calls.push_back(call());
      in_.skip_spaces();
    } while (in_.accept("->"));
    suffixes(out);
    canonical_storage(out.calls);
    return out;
  }

 private:
  OpCall call() {
    OpCall out;
    const std::size_t start = in_.position();
    const std::string_view op = in_.word(".:");
    if (op.empty()) in_.fail("an operator such as aten.add.Tensor");
    const Schema* schema = schemas_.find(spec_name(op));
    if (!schema)
      in_.fail_at(start, "expected an operator that torch has, found " + excerpt(op) +
                             nearest_hint(schemas_.nearest(spec_name(op))));
    if (!in_.accept("(")) in_.fail("'(' after the operator");
    std::vector<std::size_t> columns;
    in_.skip_spaces();
    if (!in_.accept(")")) {
      do {
        in_.skip_spaces();
        columns.push_back(in_.position());
        out.args.push_back(argument());
        in_.skip_spaces();
      } while (in_.accept(","));
      if (!in_.accept(")")) in_.fail("',' or ')' after the argument");
    }
    if (const auto problem = try_bind(out, *schema))
      in_.fail_at(problem->argument ? columns[*problem->argument] : start, problem->message);
    return out;
  }

  Arg argument() {
    Arg arg;
    const std::size_t start = in_.position();
    const std::string_view name = in_.word();
    in_.skip_spaces();
    if (!name.empty() && in_.accept("=")) {
      arg.name = name;
      in_.skip_spaces();
    } else {
      in_.rewind(start);
    }
    arg.value = values_.value();
    return arg;
  }

  /// What follows the calls. Canonical text has a fixed order; any order is read.
  void suffixes(Case& out) {
    bool phase = false, seed = false;
    while (true) {
      in_.skip_spaces();
      if (in_.at_end()) return;
      const std::size_t start = in_.position();
      const auto once = [&](bool given, std::string_view what) {
        if (given) in_.fail_at(start, std::string(what) + " is given twice");
      };
      const std::string_view word = in_.word("-");
      if (word == "fwd" || word == "bwd") {
        once(phase, "the phase");
        phase = true;
        out.phase = word == "bwd" ? Phase::backward : Phase::forward;
      } else if (word == "seed" && in_.accept("=")) {
        once(seed, "seed");
        seed = true;
        out.seed = seed_number();
      } else if (word == "data" && in_.accept("=")) {
        once(!out.data.empty(), "data");
        out.data = in_.word(":.-");
        if (out.data.empty()) in_.fail("the hash of the data");
      } else if (word == "grad" && in_.accept("=")) {
        once(!out.grad.empty(), "grad");
        out.grad = values_.names();
      } else if (in_.peek() == '.') {
        once(!out.variations.empty(), "the variation (compose with '+')");
        in_.rewind(start);
        do {
          out.variations.push_back(values_.variation());
        } while (in_.accept("+"));
      } else {
        in_.rewind(start);
        unknown_suffix(word);
      }
    }
  }

  std::uint64_t seed_number() {
    const std::string_view digits = in_.word();
    std::uint64_t seed = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
    if (result.ec != std::errc() || result.ptr != digits.data() + digits.size()) {
      in_.rewind(in_.position() - digits.size());
      in_.fail("a seed from 0 to 2^64-1");
    }
    return seed;
  }

  [[noreturn]] void unknown_suffix(std::string_view word) const {
    constexpr std::array<std::string_view, 5> k_words = {"fwd", "bwd", "seed=", "data=", "grad="};
    const bool keyed = word.size() < in_.rest().size() && in_.rest()[word.size()] == '=';
    const std::string nearest = nearest_word(std::string(word) + (keyed ? "=" : ""), k_words);
    in_.fail_at(in_.position(),
                "expected '->', FAMILY.MEMBER, fwd, bwd, seed=, data= or grad=, found " +
                    excerpt(in_.rest()) + nearest_hint(nearest));
  }

  Scanner in_;
  ValueReader values_;
  const SchemaSource& schemas_;
};

/// Reads the whole of `text` with one of ValueReader's functions.
template <class Read>
auto read_all(std::string_view text, std::string_view what, Read read) {
  Scanner in(text, what);
  ValueReader values(in);
  auto out = read(values);
  if (!in.at_end()) in.fail("the end of the " + std::string(what));
  return out;
}

}  // namespace

Case parse_case(std::string_view text, const SchemaSource& schemas) {
  return CaseReader(text, schemas).run();
}

TensorDesc parse_tensor(std::string_view text) {
  return read_all(text, "tensor", [](ValueReader& in) { return in.tensor(); });
}

Variation parse_variation(std::string_view text) {
  return read_all(text, "variation", [](ValueReader& in) { return in.variation(); });
}

Value parse_value(std::string_view text) {
  return read_all(text, "value", [](ValueReader& in) { return in.value(); });
}

}  // namespace opreplay
