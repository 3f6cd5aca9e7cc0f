// SPDX-License-Identifier: Apache-2.0
// types.h - names that every part of the simulator shares.
#pragma once
#include <cstdint>
#include <string>

#define SALS_SIM_API __attribute__((visibility("default")))

namespace sals::sim {

enum class CoreKind : uint8_t { AIC, AIV };

// Units that run against each other. S is the scalar unit, which dispatches to the others.
enum class Pipe : uint8_t { S, V, M, MTE1, MTE2, MTE3, FIX };
inline constexpr int NUM_PIPES = 7;

// On-chip memories of one core, and GM, which all share. BT: bias table, FB: fixpipe buffer.
enum class Mem : uint8_t { UB, L1, L0A, L0B, L0C, BT, FB, GM };
inline constexpr int NUM_LOCAL_MEMS = 7;

SALS_SIM_API const char* name_of(Pipe pipe);
SALS_SIM_API const char* name_of(Mem mem);

// A place in the kernel's source. As the last, defaulted parameter of an API function it is the caller's
// line.
struct Where {
    const char* file = "";
    int line = 0;
    bool implied = false;  // not written in the kernel: the library does it on behalf of this line
    static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return {file, line, false};
    }
};

enum class Check : uint8_t { MEMCHECK, RACECHECK, INITCHECK, SYNCCHECK };

struct Finding {
    Check check;
    std::string core;  // "AIC 3", "AIV 7"
    Where where;
    Where other;       // the other party of a race or of an unbalanced flag; line 0: none
    std::string text;  // what happened and what to do
};

}  // namespace sals::sim
