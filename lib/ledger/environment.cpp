#include "lib/ledger/environment.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "lib/ledger/files.h"
#include "opreplay/error.h"

extern char** environ;

namespace opreplay {
namespace {

using Json = nlohmann::ordered_json;

/// Variables that choose devices, libraries, kernels or precision, by the start of their names.
constexpr std::array<std::string_view, 24> k_variables = {
    "OMP_",  "MKL_",    "KMP_",    "ATEN_",       "TORCH_",     "PYTORCH_",
    "CUDA_", "CUDNN_",  "CUBLAS_", "NVIDIA_TF32", "HIP_",       "ROCR_",
    "HSA_",  "MIOPEN_", "ASCEND_", "NPU_",        "MUSA_",      "MLU_",
    "CNCL_", "ZE_",     "SYCL_",   "VK_",         "LD_PRELOAD", "LD_LIBRARY_PATH"};

std::string trimmed(std::string_view text) {
  const auto start = text.find_first_not_of(" \t\r\"");
  if (start == std::string_view::npos) return {};
  return std::string(text.substr(start, text.find_last_not_of(" \t\r\"") - start + 1));
}

/// The value of the first line "key<separator>value" of a file; empty if there is none.
std::string value_in(const char* file, std::string_view key, char separator) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto at = line.find(separator);
    if (at != std::string::npos && trimmed(line.substr(0, at)) == key)
      return trimmed(std::string_view(line).substr(at + 1));
  }
  return {};
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\\\";
    } else if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result;
}

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    check(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void add(std::string_view bytes) {
    check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    check(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1);
    return fmt::format("{:02x}", fmt::join(digest.data(), digest.data() + size, ""));
  }

 private:
  static void check(bool ok) {
    if (!ok)
      throw Error(ExitCode::internal, "libcrypto computes no SHA-256; is it a restricted build?");
  }
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

std::map<std::string, std::string> strings_of(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end() || !it->is_object())
    throw Error(ExitCode::invalid_input, fmt::format("env.json: '{}': expected an object", key));
  std::map<std::string, std::string> result;
  for (const auto& [name, value] : it->items()) {
    if (!value.is_string())
      throw Error(ExitCode::invalid_input,
                  fmt::format("env.json: '{}.{}': expected a string", key, name));
    result[name] = value.get<std::string>();
  }
  return result;
}

}  // namespace

std::string Environment::id() const {
  std::string canonical;
  for (const auto& [key, value] : facts) canonical += escaped(key) + "=" + escaped(value) + "\n";
  return sha256_hex(canonical).substr(0, 16);
}

Environment host_environment() {
  Environment environment;
  auto& facts = environment.facts;
  facts["opreplay"] = OPREPLAY_VERSION;
  const std::string cpu = value_in("/proc/cpuinfo", "model name", ':');
  const std::string os = value_in("/etc/os-release", "PRETTY_NAME", '=');
  utsname system{};
  uname(&system);
  facts["cpu"] = cpu.empty() ? system.machine : cpu;
  facts["os"] = (os.empty() ? system.sysname : os) + " " + system.machine;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const bool matters = std::any_of(k_variables.begin(), k_variables.end(),
                                     [&](std::string_view v) { return text.starts_with(v); });
    const auto at = text.find('=');
    if (matters && at != std::string_view::npos)
      facts["env." + std::string(text.substr(0, at))] = text.substr(at + 1);
  }
  environment.volatile_facts = {{"time", utc_text(std::chrono::system_clock::now())},
                                {"host", system.nodename},
                                {"kernel", system.release},
                                {"pid", std::to_string(getpid())}};
  return environment;
}

void add_library(Environment& environment, const std::filesystem::path& library) {
  std::ifstream in(library, std::ios::binary);
  Sha256 hash;
  std::uintmax_t size = 0;
  std::vector<char> block(std::size_t{1} << 20);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0) {
    const auto count = static_cast<std::size_t>(in.gcount());
    hash.add({block.data(), count});
    size += count;
  }
  if (!in.eof())
    throw Error(ExitCode::invalid_input,
                "cannot read " + library.string() + ": " + system_error_text());
  const std::string name = library.filename().string();
  environment.facts["library." + name] = fmt::format("{} bytes sha256:{}", size, hash.hex());
  environment.volatile_facts["folder." + name] = library.parent_path().string();
}

void add_identity(Environment& environment, std::string_view lines) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    const auto at = line.find(':');
    if (at == std::string_view::npos) continue;
    const std::string key = trimmed(line.substr(0, at));
    if (!key.empty()) environment.facts[key] = trimmed(line.substr(at + 1));
  }
}

std::string to_json(const Environment& environment) {
  Json json;
  json["id"] = environment.id();
  json["facts"] = environment.facts;
  json["volatile"] = environment.volatile_facts;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Environment environment_from_json(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw Error(ExitCode::invalid_input, "env.json: not a JSON object");
  Environment environment{strings_of(json, "facts"), strings_of(json, "volatile")};
  const auto id = json.find("id");
  if (id == json.end() || *id != environment.id())
    throw Error(ExitCode::invalid_input,
                "env.json: 'id': expected " + environment.id() +
                    ", the hash of the facts; was the file edited by hand?");
  return environment;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

}  // namespace opreplay
