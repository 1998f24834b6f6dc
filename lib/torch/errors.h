#pragma once
/// Exceptions of torch and of devices behind it, as data.

#include <exception>

#include "opreplay/outcome.h"

namespace opreplay {

/// Describes the exception being handled. Call inside a catch block only.
Raised describe_current_exception(Stage stage);

}  // namespace opreplay
