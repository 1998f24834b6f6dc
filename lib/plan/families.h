#pragma once
/// The families there are; each is defined in family_<name>.cpp.

#include "lib/plan/family.h"

namespace opreplay {

Family shape_family();
Family values_family();
Family layout_family();
Family dtype_family();

}  // namespace opreplay
