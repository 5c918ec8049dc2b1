// AGENTCORE_JSON_ABI (include/agentcore/json_fwd.hpp) as a text in the program, which CMake reads.
#include <nlohmann/json_fwd.hpp>

#ifndef JSON_DIAGNOSTIC_POSITIONS  // since 3.12
#define JSON_DIAGNOSTIC_POSITIONS 0
#endif

namespace {

constexpr long abi = (NLOHMANN_JSON_VERSION_MAJOR * 10000L + NLOHMANN_JSON_VERSION_MINOR * 100L +
                      NLOHMANN_JSON_VERSION_PATCH) *
                         100L +
                     (JSON_DIAGNOSTICS ? 1L : 0L) + (JSON_USE_LEGACY_DISCARDED_VALUE_COMPARISON ? 2L : 0L) +
                     (JSON_DIAGNOSTIC_POSITIONS ? 4L : 0L) + (NLOHMANN_JSON_NAMESPACE_NO_VERSION ? 8L : 0L);

constexpr char digit(long place) {
  return static_cast<char>('0' + abi / place % 10L);
}

}  // namespace

extern const char agentcore_json_abi[];
const char agentcore_json_abi[] = {'a',
                                   'g',
                                   'e',
                                   'n',
                                   't',
                                   'c',
                                   'o',
                                   'r',
                                   'e',
                                   '_',
                                   'j',
                                   's',
                                   'o',
                                   'n',
                                   '_',
                                   'a',
                                   'b',
                                   'i',
                                   ':',
                                   digit(100'000'000L),
                                   digit(10'000'000L),
                                   digit(1'000'000L),
                                   digit(100'000L),
                                   digit(10'000L),
                                   digit(1'000L),
                                   digit(100L),
                                   digit(10L),
                                   digit(1L),
                                   '\0'};

int main(int count, char**) {
  return agentcore_json_abi[count];
}
