#pragma once
/// The CPU side of a case: the run in the tested dtype (the witness), the fp64 run, and what the
/// error model of the op needs beside them. docs/oracle.md, "The reference".

#include <optional>
#include <string>
#include <vector>

#include "lib/base/request.h"
#include "lib/compare/error_model.h"
#include "lib/torch/inputs.h"
#include "lib/torch/run.h"
#include "lib/torch/wide.h"
#include "opreplay/outcome.h"

namespace opreplay {

/// One output (return or modified argument) as the CPU gave it.
struct ReferenceOutput {
  std::string name;           ///< "out", "out0", or the argument's name
  at::Tensor witness;         ///< CPU in the tested dtype; undefined if it could not run or is None
  at::Tensor witness_dense;   ///< its contiguous form
  at::Tensor wide;            ///< the wider run's; undefined for exact models
  std::string argument_path;  ///< set for modified arguments
  bool number = false;        ///< no tensor but a number, held as a 0-dim one on the CPU

  /// The witness, or the wider run's where there is no witness; and the other way round.
  const at::Tensor& in_dtype() const { return witness.defined() ? witness : wide; }
  const at::Tensor& in_full() const { return wide.defined() ? wide : witness; }
};

/// For each return of the CPU run, the input path whose storage it shares; empty = none.
using AliasMap = std::vector<std::string>;

struct Reference {
  std::vector<ReferenceOutput> outputs;
  std::size_t returns = 0;  ///< the first so many outputs are returns, the rest modified arguments
  AliasMap aliases;
  /// Input storages that the CPU run changed, by index.
  std::vector<bool> storage_modified;
  std::optional<Raised> error;    ///< in the tested dtype
  std::optional<Raised> error64;  ///< in fp64 (and in f32, where that was tried)
  /// "fp64", "f32", or empty when there was no wider run.
  std::string precision;
  std::map<std::string, std::vector<double>> scalars;  ///< Evidence::scalars
  std::map<std::string, std::string> words;            ///< Evidence::words
  /// By output, for models with needs.staged: from staged_runs (staged.h).
  std::vector<Staged> staged;
  double milliseconds = 0;
};

/// The op, its rule's model, and the case: what every step of the reference reads.
struct ReferenceJob {
  const ReplayRequest& request;
  const std::vector<c10::OperatorHandle>& operators;
  const InputImage& image;
  const ErrorModel* model = nullptr;  ///< null = structure only
  bool exact = false;                 ///< the model needs the witness, no wider run
  NumberFormat numbers = {};          ///< how the wider run takes the call's numbers
};

/// Output `i` of another run of the same calls: a return, or a modified argument.
const at::Tensor& output_of(const Reference& reference, const RunResult& result,
                            const RunInputs& inputs, std::size_t i);

/// Runs both references. Never throws for what an operator does.
Reference compute_reference(const ReferenceJob& job);

/// `first` with the wider run of another job for the same calls: other inputs, or numbers in
/// another format. Nothing if that run raises or `first` has no outputs to compare.
std::optional<Reference> wide_reference(const ReferenceJob& job, const Reference& first);

/// T of an output: what the witness has; where only a wider run exists, the tested dtype.
DType tested_dtype(const ReferenceOutput& output, const InputImage& image);

/// The evidence of output `index` for the job's model. Requires a model that is not exact and a
/// reference that was not rejected.
Evidence gather_evidence(const ReferenceJob& job, const Reference& reference, std::size_t index);

/// Which inputs a run's returns share their storage with.
AliasMap alias_map(const RunResult& result, const RunInputs& inputs, const InputImage& image);

/// The storages of `inputs` whose bytes differ from the image's, compared on the host.
std::vector<bool> modified_storages(const RunInputs& inputs, const InputImage& image);

}  // namespace opreplay
