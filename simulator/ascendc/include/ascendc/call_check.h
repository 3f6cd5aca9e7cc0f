// SPDX-License-Identifier: Apache-2.0
// call_check.h - what a call of a data-movement or cube function must satisfy before it becomes an
// instruction. Every broken rule is reported with the numbers; a call that broke one is not carried out.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>

#include "engine/core.h"

namespace AscendC::internal {

namespace sim = sals::sim;

class CallCheck {
public:
    CallCheck(const char* call, sim::Where where) : call_(call), where_(where) {}

    bool ok() const { return ok_; }

    void fail(const std::string& what) {
        ok_ = false;
        sim::Core::current().report(sim::Check::MEMCHECK, where_, std::string(call_) + ": " + what);
    }

    // The hardware's field for `name` holds low..high.
    void range(const char* name, uint64_t value, uint64_t low, uint64_t high) {
        if (value >= low && value <= high) return;
        fail(std::string(name) + " must be in [" + std::to_string(low) + ", " + std::to_string(high) +
             "], got " + std::to_string(value));
    }

    void multiple(const char* name, uint64_t value, uint64_t unit, const char* advice = "") {
        if (value % unit == 0) return;
        fail(std::string(name) + " must be a multiple of " + std::to_string(unit) + ", got " +
             std::to_string(value) + advice);
    }

    void aligned(const char* operand, sim::Mem mem, uint64_t begin, uint64_t bytes) {
        if (begin % bytes == 0) return;
        const std::string place =
            mem == sim::Mem::GM ? "address in GM" : std::string("offset in ") + sim::name_of(mem);
        fail(std::string(operand) + " must start at a multiple of " + std::to_string(bytes) + " bytes, its " +
             place + " is " + std::to_string(begin));
    }

    void in_memory(const char* operand, sim::Mem mem, std::initializer_list<sim::Mem> allowed) {
        std::string list;
        for (const sim::Mem candidate : allowed) {
            if (candidate == mem) return;
            list += (list.empty() ? "" : " or ") + std::string(sim::name_of(candidate));
        }
        fail(std::string(operand) + " must be in " + list + ", it is in " + sim::name_of(mem));
    }

    // A cube core has no UB, a vector core only UB.
    void on_core_with(sim::Mem mem) {
        if (mem == sim::Mem::GM) return;
        const sim::CoreKind owner = mem == sim::Mem::UB ? sim::CoreKind::AIV : sim::CoreKind::AIC;
        if (sim::Core::current().kind() == owner) return;
        const bool vector = owner == sim::CoreKind::AIV;
        fail(std::string(sim::name_of(mem)) + " belongs to the " + (vector ? "AIV" : "AIC") +
             ", this is an " + (vector ? "AIC" : "AIV") + ": guard the call with ASCEND_IS_" +
             (vector ? "AIV" : "AIC"));
    }

private:
    const char* call_;
    sim::Where where_;
    bool ok_ = true;
};

}  // namespace AscendC::internal
