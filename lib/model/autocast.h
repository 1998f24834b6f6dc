#pragma once
/// What an autocast region does to the calls inside it. A graph shows calls as the program writes
/// them; the kernel gets cast arguments, and those are what a device is asked for.

#include <string>
#include <string_view>
#include <unordered_map>

#include "lib/base/schema.h"
#include "opreplay/call.h"

namespace opreplay {

/// torch.autocast(device_type, dtype, enabled).
struct AutocastRegion {
  std::string device_type{};  ///< "cpu", "cuda"
  DType dtype = DType::bf16;
  bool enabled = true;
};

/// Policies by operator (opspecs/schemas/autocast-X.Y.txt says what each means).
class AutocastTable {
 public:
  enum class Policy { none, lower, f32, f32_dtype, widest, parts };

  /// Takes the text of a table. Throws Error{invalid_input} naming a line that is none.
  explicit AutocastTable(std::string_view text);
  /// Policy::none for an operator that autocast leaves alone.
  Policy find(std::string_view device_type, const std::string& op) const;

 private:
  std::unordered_map<std::string, Policy> cpu_, other_;
};

/// The table shipped with the program.
const AutocastTable& shipped_autocast();

/// Casts the tensors of a bound call as the region does. A cast tensor is a new one: no offset, no
/// sharing, dense in the order of its strides. False if the call cannot be written with cast
/// arguments (Policy::parts).
bool apply_autocast(const AutocastRegion& region, const AutocastTable& table, const Schema& schema,
                    OpCall& call);

}  // namespace opreplay
