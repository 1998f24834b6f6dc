#include "lib/ledger/record.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "lib/ledger/record_fields.h"
#include "opreplay/error.h"

// A member that is empty (false, 0, "", [], a default-constructed struct) is left out of the line,
// and a key that is absent reads as that, so that a passing record stays short. Bytes that are no
// UTF-8 (a dying process may write anything) become U+FFFD.

namespace opreplay {
namespace {

using Json = nlohmann::ordered_json;

constexpr int k_version = 1;

template <class T>
concept Struct = std::is_same_v<T, Raised> || std::is_same_v<T, ClassDifference> ||
    std::is_same_v<T, WorstElement> || std::is_same_v<T, OutputComparison> ||
    std::is_same_v<T, Witness> || std::is_same_v<T, Outcome>;

template <class Archive, class T>
void fields_of(Archive& archive, T& object) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Plain, Raised>) {
    ledger::raised_fields(archive, object);
  } else if constexpr (std::is_same_v<Plain, ClassDifference>) {
    ledger::classes_fields(archive, object);
  } else if constexpr (std::is_same_v<Plain, WorstElement>) {
    ledger::element_fields(archive, object);
  } else if constexpr (std::is_same_v<Plain, OutputComparison>) {
    ledger::output_fields(archive, object);
  } else if constexpr (std::is_same_v<Plain, Witness>) {
    ledger::witness_fields(archive, object);
  } else {
    ledger::outcome_fields(archive, object);
  }
}

// --- writing -----------------------------------------------------------------------------------

class Writer {
 public:
  Json take() { return std::move(json_); }

  template <class T>
  void required(const char* key, const T& value) {
    json_[key] = to_json(value);
  }

  template <class T>
  void operator()(const char* key, const T& value) {
    Json json = to_json(value);
    if (json != empty<T>()) json_[key] = std::move(json);
  }

  void hex(const char* key, std::uint64_t value) {
    if (value != 0) json_[key] = fmt::format("{:016x}", value);
  }

 private:
  template <class T>
  static const Json& empty() {
    static const Json json = to_json(T{});
    return json;
  }

  static Json to_json(bool value) { return value; }
  static Json to_json(int value) { return value; }
  static Json to_json(std::int64_t value) { return value; }
  static Json to_json(const std::string& value) { return value; }
  static Json to_json(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
  }
  template <class T>
  requires std::is_enum_v<T>
  static Json to_json(T value) { return std::string(to_string(value)); }
  template <class T>
  static Json to_json(const std::optional<T>& value) {
    return value ? to_json(*value) : Json();
  }
  template <class T>
  static Json to_json(const std::vector<T>& values) {
    Json json = Json::array();
    for (const T& value : values) json.push_back(to_json(value));
    return json;
  }
  template <Struct T>
  static Json to_json(const T& value) {
    Writer writer;
    fields_of(writer, value);
    Json json = writer.take();
    return json.is_null() ? Json::object() : json;
  }

  Json json_;
};

// --- reading -----------------------------------------------------------------------------------

[[noreturn]] void refuse(const std::string& key, const std::string& expected) {
  throw Error(ExitCode::invalid_input,
              "record: key '" + key + "': " + expected + "; was the ledger edited by hand?");
}

template <class Enum>
std::optional<Enum> parse_word(std::string_view word, int count) {
  for (int i = 0; i < count; ++i)
    if (to_string(static_cast<Enum>(i)) == word) return static_cast<Enum>(i);
  return std::nullopt;
}

class Reader {
 public:
  Reader(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json.is_object()) refuse(path_.empty() ? "record" : path_, "expected an object");
  }

  template <class T>
  void required(const char* key, T& value) const {
    const auto it = json_.find(key);
    if (it == json_.end()) refuse(join(key), "missing");
    read(*it, join(key), value);
  }

  template <class T>
  void operator()(const char* key, T& value) const {
    const auto it = json_.find(key);
    if (it == json_.end()) {
      value = T{};
    } else {
      read(*it, join(key), value);
    }
  }

  void hex(const char* key, std::uint64_t& value) const {
    std::string text;
    (*this)(key, text);
    value = 0;
    if (text.empty()) return;
    const bool digits = text.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (text.size() != 16 || !digits)
      refuse(join(key), "expected 16 hex digits, found '" + text + "'");
    value = std::stoull(text, nullptr, 16);
  }

 private:
  std::string join(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

  static void read(const Json& json, const std::string& path, bool& value) {
    if (!json.is_boolean()) refuse(path, "expected true or false");
    value = json.get<bool>();
  }
  static void read(const Json& json, const std::string& path, std::int64_t& value) {
    if (!json.is_number_integer()) refuse(path, "expected an integer");
    if (json.is_number_unsigned() &&
        json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      refuse(path, "expected an integer below 2^63");
    value = json.get<std::int64_t>();
  }
  static void read(const Json& json, const std::string& path, int& value) {
    std::int64_t wide = 0;
    read(json, path, wide);
    if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max())
      refuse(path, "expected a 32-bit integer");
    value = static_cast<int>(wide);
  }
  static void read(const Json& json, const std::string& path, std::string& value) {
    if (!json.is_string()) refuse(path, "expected a string");
    value = json.get<std::string>();
  }
  static void read(const Json& json, const std::string& path, double& value) {
    if (json.is_number()) {
      value = json.get<double>();
      return;
    }
    const std::string word = json.is_string() ? json.get<std::string>() : std::string();
    constexpr double k_inf = std::numeric_limits<double>::infinity();
    if (word == "nan") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (word == "inf" || word == "-inf") {
      value = word == "inf" ? k_inf : -k_inf;
    } else {
      refuse(path, "expected a number, \"nan\", \"inf\" or \"-inf\"");
    }
  }
  template <class T>
  requires std::is_enum_v<T>
  static void read(const Json& json, const std::string& path, T& value) {
    std::string word;
    read(json, path, word);
    const auto parsed = parse_word<T>(word, count_of(T{}));
    if (!parsed) refuse(path, "unknown word '" + word + "'");
    value = *parsed;
  }
  template <class T>
  static void read(const Json& json, const std::string& path, std::optional<T>& value) {
    read(json, path, value.emplace());
  }
  template <class T>
  static void read(const Json& json, const std::string& path, std::vector<T>& values) {
    if (!json.is_array()) refuse(path, "expected a list");
    values.clear();
    values.reserve(json.size());
    for (const Json& item : json) {
      const std::string item_path = path + "[" + std::to_string(values.size()) + "]";
      read(item, item_path, values.emplace_back());
    }
  }
  template <Struct T>
  static void read(const Json& json, const std::string& path, T& value) {
    Reader reader(json, path);
    fields_of(reader, value);
  }

  // Number of enumerators.
  static int count_of(Status) { return static_cast<int>(Status::invalid) + 1; }
  static int count_of(Reason) { return static_cast<int>(Reason::stale) + 1; }
  static int count_of(Kind) { return static_cast<int>(Kind::environment) + 1; }
  static int count_of(Stage) { return static_cast<int>(Stage::done) + 1; }
  static int count_of(ErrorClass) { return static_cast<int>(ErrorClass::other) + 1; }
  static int count_of(Ending) { return static_cast<int>(Ending::lost) + 1; }

  const Json& json_;
  std::string path_;
};

}  // namespace

std::string to_json_line(const Record& record) {
  Writer writer;
  writer.required("v", k_version);
  ledger::record_fields(writer, record);
  return writer.take().dump(-1, ' ', false, Json::error_handler_t::replace);
}

Record record_from_json(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded())
    throw Error(ExitCode::invalid_input, "record: not a JSON object: '" + line.substr(0, 60) + "'");
  Reader reader(json, "");
  int version = 0;
  reader.required("v", version);
  if (version != k_version)
    throw Error(ExitCode::invalid_input,
                fmt::format("record: version {} is not version {}, which this opreplay reads; use "
                            "the opreplay that wrote it",
                            version, k_version));
  Record record;
  ledger::record_fields(reader, record);
  return record;
}

}  // namespace opreplay
