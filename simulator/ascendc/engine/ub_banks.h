// SPDX-License-Identifier: Apache-2.0
// ub_banks.h - conflicts of a vector instruction's operands in the banks of the UB.
//
// The UB is 16 groups of 3 banks, rows of 32 bytes. In one cycle a group gives one row to read, and a bank is
// either read or written. The operands of one repeat that meet in a group or bank therefore queue:
//   reads   two source blocks in one group, of one operand or of two, take two cycles;
//   writes  likewise;
//   a write and a read in one bank cost WRITE_READ_REPEAT, unless the blocks of destination and source fall
//           pairwise into the same banks: then the unit writes one repeat later and only meets what is read
//           then.
// A block that one operand names several times in a repeat (block stride 0) is read once, and is once in its
// span.
#pragma once
#include "engine/instruction.h"

namespace sals::sim {

// Cycles of all repeats, when a repeat without conflicts takes `repeat_cycles`. Conflicts hide behind lanes
// that need more cycles than the accesses [assumed].
double banked_cycles(const Instruction& instruction, double repeat_cycles);

}  // namespace sals::sim
