#pragma once
/// Our dtypes to torch's and back.

#include <c10/core/ScalarType.h>

#include <optional>

#include "opreplay/dtype.h"

namespace opreplay {

c10::ScalarType to_torch(DType dtype);
/// Nothing for torch dtypes no case string can name.
std::optional<DType> from_torch(c10::ScalarType type);

}  // namespace opreplay
