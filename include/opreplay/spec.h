#pragma once
/// Op-specs: what a model calls, as YAML files, one per overload. `capture` writes them, `run`
/// reads them. Format: docs/spec-format.md.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "opreplay/call.h"
#include "opreplay/case.h"

namespace opreplay {

/// Where a call was made.
struct CallSite {
  std::string module;  ///< "layers.0.self_attn"; empty = the model itself
  std::string line;    ///< "modeling_llama.py:212"; empty = unknown
  bool operator==(const CallSite&) const = default;
};

/// One distinct call and how often the model makes it.
struct SpecCall {
  OpCall call;  ///< bound; tensors carry values, dims, grad... from the file
  std::int64_t count = 1;
  std::vector<CallSite> at;  ///< the first few sites
  bool forward = true;       ///< `phase`: where the recorded call ran
  bool backward = false;
  bool replay_backward = false;
  std::vector<TensorDesc> results;
  bool operator==(const SpecCall&) const = default;
};

struct SpecSource {
  std::string model;    ///< file name
  std::string hash;     ///< "xxh3:<16 hex>" of the file
  std::string torch;    ///< "2.13.0"
  std::string capture;  ///< static | run | live
  bool operator==(const SpecSource&) const = default;
};

/// A call known to fail on a device: counts as what it is, not in the exit code.
struct KnownFailure {
  std::string device, case_text, reason, why, link, since, until;
  bool operator==(const KnownFailure&) const = default;
};

struct Tolerance {
  double factor = 1;
  std::string why;
  bool operator==(const Tolerance&) const = default;
};

/// One file: one overload.
struct OpSpec {
  std::string op;      ///< "aten.softmax.int"
  std::string schema;  ///< text as torch prints it, without namespace
  SpecSource source;
  std::vector<SpecCall> calls;
  std::vector<std::string> scope;  ///< families that count for the status
  std::vector<std::string> vary;   ///< families to add ("+x" or "x") or remove ("-x")
  std::vector<std::string> tags;
  std::vector<KnownFailure> known;
  std::optional<Tolerance> tolerance;
  std::filesystem::path file;                  ///< where it was read from; empty if never written
  bool operator==(const OpSpec& other) const;  ///< `file` does not count
};

/// A problem of a file: position is 1-based, 0 = unknown.
struct Diagnostic {
  std::string file;
  int line = 0, column = 0;
  std::string message;
};
/// "file:line:column: message"
std::string to_string(const Diagnostic& diagnostic);

struct LoadLimits {
  std::int64_t max_bytes = std::int64_t{4} << 30;        ///< of all tensors of one call together
  std::int64_t max_file_bytes = std::int64_t{64} << 20;  ///< of one spec file
};

/// Reads one file or, recursively, every *.yaml of a folder, in name order.
/// Throws Error{invalid_input} whose message lists every problem of every file, one a line.
std::vector<OpSpec> load_specs(const std::filesystem::path& file_or_folder,
                               const LoadLimits& limits = {});

/// Canonical YAML; load then write then load gives the same spec, and writing is idempotent.
std::string to_yaml(const OpSpec& spec);

/// "<namespace>.<op>.<overload>.yaml"
std::string file_name(const OpSpec& spec);

/// Writes one spec to `file`, by rename. Throws Error{output_failed}.
void write_spec(const OpSpec& spec, const std::filesystem::path& file);

/// Writes each spec to `folder` (made if missing), by rename so that no file is ever half written.
/// Throws Error{output_failed}.
void write_specs(const std::vector<OpSpec>& specs, const std::filesystem::path& folder);

}  // namespace opreplay
