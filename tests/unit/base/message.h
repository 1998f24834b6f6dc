#pragma once
/// The message of the Error that a call throws; empty if it throws none.

#include <string>

#include "opreplay/error.h"

template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const opreplay::Error& error) {
    return error.what();
  }
  return {};
}
