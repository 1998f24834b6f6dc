#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>

#include "lib/base/case_parser.h"
#include "lib/spec/schema_table.h"
#include "opreplay/case.h"
#include "opreplay/error.h"

using namespace opreplay;

// Random calls of real schemas through to_string and parse_case.

namespace {

template <class T>
T one_of(std::vector<T> choices) {
  return *rc::gen::elementOf(std::move(choices));
}

bool coin() { return *rc::gen::arbitrary<bool>(); }

int below(int end) { return *rc::gen::inRange(0, end); }

/// Schemas for which a case can be built: no varargs, no required argument of a foreign type.
const std::vector<const Schema*>& usable_schemas() {
  static const auto schemas = [] {
    std::vector<const Schema*> out;
    std::ifstream file(OPREPLAY_TEST_DATA "/../../opspecs/schemas/torch-2.13.txt");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with('#')) continue;
      const Schema* schema = shipped_schemas().find(spec_name(line.substr(0, line.find('('))));
      bool usable = !schema->vararg;
      for (const SchemaArg& arg : schema->args)
        usable = usable &&
                 (arg.default_value || arg.type.optional ||
                  (arg.type.base != SchemaBase::other && arg.type.base != SchemaBase::generator));
      if (usable) out.push_back(schema);
    }
    return out;
  }();
  return schemas;
}

TensorDesc random_desc() {
  const auto dtypes = all_dtypes();
  TensorDesc desc =
      make_desc(dtypes[static_cast<std::size_t>(below(static_cast<int>(dtypes.size())))], {});
  for (int rank = below(5); rank > 0; --rank) desc.sizes.push_back(below(5));
  desc.strides = contiguous_strides(desc.sizes);
  if (below(3) == 0)
    for (std::int64_t& stride : desc.strides) stride = below(40);
  if (below(4) == 0) desc.offset = below(1000);
  desc.storage = one_of<std::string>({"", "", "x", "y", "long_label"});
  return desc;
}

double random_double() {
  return below(3) == 0 ? one_of<double>({0.0, -0.0, 1.0, -3.0, 1e300, -5e-324,
                                         std::numeric_limits<double>::infinity(),
                                         std::numeric_limits<double>::quiet_NaN()})
                       : *rc::gen::arbitrary<double>();
}

std::int64_t random_integer() {
  return coin() ? below(20) - 10
                : one_of<std::int64_t>({std::numeric_limits<std::int64_t>::min(),
                                        std::numeric_limits<std::int64_t>::max(),
                                        std::int64_t{1} << 53});
}

Value random_number() {
  switch (below(4)) {
    case 0:
      return {coin()};
    case 1:
      return {random_double()};
    case 2:
      return {std::complex<double>(random_double(), random_double())};
    default:
      return {random_integer()};
  }
}

Value random_element(SchemaBase base) {
  switch (base) {
    case SchemaBase::tensor: {
      if (below(8) == 0) return random_number();
      TensorArg tensor;
      tensor.desc = random_desc();
      return {tensor};
    }
    case SchemaBase::integer:
    case SchemaBase::sym_int:
      return {random_integer()};
    case SchemaBase::floating:
      return coin() ? Value{random_double()} : Value{random_integer()};
    case SchemaBase::complex:
      return {std::complex<double>(random_double(), random_double())};
    case SchemaBase::scalar:
      return random_number();
    case SchemaBase::boolean:
      return {coin()};
    case SchemaBase::string:
      return {*rc::gen::arbitrary<std::string>()};
    case SchemaBase::scalar_type:
      return {Word{std::string(name(random_desc().dtype))}};
    case SchemaBase::layout:
      return {Word{one_of<std::string>({"strided", "sparse_coo"})}};
    case SchemaBase::memory_format:
      return {Word{one_of<std::string>({"channels_last", "contiguous_format"})}};
    case SchemaBase::device:
      return {Word{one_of<std::string>({"cpu", "cuda:0", "privateuseone:12"})}};
    default:
      return {None{}};
  }
}

Value random_value(const SchemaType& type) {
  if (type.base == SchemaBase::other || type.base == SchemaBase::generator ||
      (type.optional && below(3) == 0))
    return {None{}};
  if (!type.list || (type.size > 0 && below(3) == 0)) return random_element(type.base);
  List list;
  for (int count = below(4); count > 0; --count)
    list.push_back(type.optional_element && below(3) == 0 ? Value{None{}}
                                                          : random_element(type.base));
  return {list};
}

/// A bound call with random arguments, given in any of the ways that bind takes.
OpCall random_call(const Schema& schema) {
  OpCall call;
  bool named = false;
  std::vector<Arg> args;
  for (const SchemaArg& arg : schema.args) {
    const bool holdable =
        arg.type.base != SchemaBase::other && arg.type.base != SchemaBase::generator;
    if (arg.default_value && (!holdable || below(3) == 0)) {
      named = true;  // left out: those that follow need their names
      continue;
    }
    named = named || arg.keyword_only || below(6) == 0;
    args.push_back({named ? arg.name : "", random_value(arg.type), false});
  }
  call.args = args;
  bind(call, schema);
  return call;
}

const Schema& random_schema() { return *one_of(usable_schemas()); }

Case random_case() {
  Case c;
  const int calls = below(5) == 0 ? 2 : 1;
  for (int i = 0; i < calls; ++i) c.calls.push_back(random_call(random_schema()));
  canonical_storage(c.calls);
  for (int i = below(3); i > 0; --i)
    c.variations.push_back(
        {one_of<std::string>({"values", "shape"}),
         one_of<std::string>({"nan", "empty_batch", "neg-inf"}),
         one_of<std::string>({"", "first", "one_per_row", "-1"}),
         one_of<std::vector<std::string>>({{}, {"self"}, {"self", "tensors.1"}})});
  c.phase = coin() ? Phase::forward : Phase::backward;
  c.seed = coin() ? 0 : *rc::gen::arbitrary<std::uint64_t>();
  c.data = one_of<std::string>({"", "xxh3:00ff"});
  c.grad = one_of<std::vector<std::string>>({{}, {"weight"}, {"self", "tensors.0"}});
  return c;
}

bool has_nan(const Value& value) {
  if (const auto* number = value.get<double>()) return std::isnan(*number);
  if (const auto* number = value.get<std::complex<double>>())
    return std::isnan(number->real()) || std::isnan(number->imag());
  if (const auto* list = value.get<List>()) return std::any_of(list->begin(), list->end(), has_nan);
  return false;
}

bool has_nan(const Case& c) {
  for (const OpCall& call : c.calls)
    for (const Arg& arg : call.args)
      if (has_nan(arg.value)) return true;
  return false;
}

/// Text near valid text: a few bytes or slices inserted, removed, replaced or doubled.
std::string mutated(std::string text) {
  for (int edits = 1 + below(4); edits > 0; --edits) {
    const auto at = static_cast<std::size_t>(below(static_cast<int>(text.size()) + 1));
    const auto length = static_cast<std::size_t>(below(6));
    switch (below(4)) {
      case 0:
        text.insert(at, 1,
                    one_of<char>({'[', ']', '(', ')', ',', '+', '-', '&', ';',  '"',    '\\',
                                  '=', ' ', '.', '@', ':', '0', '9', 'e', '\0', '\xff', '\n'}));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      default:
        if (at < text.size()) text[at] = *rc::gen::arbitrary<char>();
    }
  }
  return text;
}

}  // namespace

TEST_CASE("most shipped schemas can have a case") {
  // 4231 schemas; the rest take varargs or only values no case can hold.
  CHECK(usable_schemas().size() > 3700);
}

TEST_CASE("a case survives printing and reading") {
  REQUIRE(rc::check([] {
    const Case c = random_case();
    const std::string text = to_string(c);
    RC_LOG() << text << '\n';
    const Case again = parse_case(text, shipped_schemas());
    RC_ASSERT(to_string(again) == text);
    RC_ASSERT(case_id(again) == case_id(c));
    if (!has_nan(c)) RC_ASSERT(again == c);
  }));
}

TEST_CASE("values and tensors survive printing and reading") {
  REQUIRE(rc::check([] {
    const Value value = random_element(one_of<SchemaBase>(
        {SchemaBase::tensor, SchemaBase::scalar, SchemaBase::string, SchemaBase::device}));
    const Value again = parse_value(to_string(value));
    RC_ASSERT(to_string(again) == to_string(value));
    if (!has_nan(value)) RC_ASSERT(again == value);
    const TensorDesc desc = random_desc();
    RC_ASSERT(parse_tensor(to_string(desc)) == desc);
  }));
}

TEST_CASE("calls have the same id exactly when they are the same call") {
  REQUIRE(rc::check([] {
    const Schema& schema = random_schema();
    OpCall a = random_call(schema);
    OpCall b = coin() ? a : random_call(schema);
    if (has_nan({{a}, {}, {}, 0, {}, {}})) return;
    const std::uint64_t a_as_given = call_id(a);
    canonical_storage(std::span(&a, 1));
    canonical_storage(std::span(&b, 1));
    RC_ASSERT(call_id(a) == a_as_given);
    RC_ASSERT((call_id(a) == call_id(b)) == (a == b));
  }));
}

TEST_CASE("names of storages do not matter, their sharing does") {
  REQUIRE(rc::check([] {
    OpCall call = random_call(random_schema());
    const std::uint64_t id = call_id(call);
    std::map<std::string, int> uses;
    for_each_tensor(call, [&](const std::string&, const TensorArg& tensor) {
      if (!tensor.desc.storage.empty()) ++uses[tensor.desc.storage];
    });
    const bool shared = std::any_of(uses.begin(), uses.end(),
                                    [](const auto& storage) { return storage.second > 1; });
    for_each_tensor(call, [](const std::string&, TensorArg& tensor) {
      if (!tensor.desc.storage.empty()) tensor.desc.storage += "_renamed";
    });
    RC_ASSERT(call_id(call) == id);
    for_each_tensor(call, [](const std::string&, TensorArg& t) { t.desc.storage.clear(); });
    RC_ASSERT((call_id(call) == id) == !shared);
  }));
}

TEST_CASE("bind changes nothing on a bound call") {
  REQUIRE(rc::check([] {
    const Schema& schema = random_schema();
    const OpCall call = random_call(schema);
    OpCall again = call;
    bind(again, schema);
    RC_ASSERT(to_string(again) == to_string(call));
    RC_ASSERT(again.args.size() == call.args.size());
  }));
}

TEST_CASE("damaged case strings are refused or read, never worse") {
  REQUIRE(rc::check([] {
    const std::string text = mutated(to_string(random_case()));
    RC_LOG() << text << '\n';
    Case c;
    try {
      c = parse_case(text, shipped_schemas());
    } catch (const Error& error) {
      RC_TAG("refused");
      RC_ASSERT(error.code() == ExitCode::invalid_input);
      RC_ASSERT(std::string(error.what()).starts_with("case string, column "));
      return;
    }
    RC_TAG("read");
    const std::string canonical = to_string(c);
    RC_ASSERT(to_string(parse_case(canonical, shipped_schemas())) == canonical);
  }));
}

TEST_CASE("damaged schemas are refused or read, never worse") {
  REQUIRE(rc::check([] {
    const auto file = *rc::gen::elementOf(std::vector<std::string>{
        "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
        "aten::x(Dict(str, t)(a!) self, t(b -> *)? d=None) -> ((str, t)[])",
        "aten::f(int[2] stride=[1, 1], str mode=\"a\\n\", float eps=1e-05) -> (Tensor, Tensor q)"});
    try {
      parse_schema(mutated(file));
    } catch (const Error& error) {
      RC_ASSERT(error.code() == ExitCode::invalid_input);
      RC_ASSERT(std::string(error.what()).starts_with("schema, column "));
    }
  }));
}
