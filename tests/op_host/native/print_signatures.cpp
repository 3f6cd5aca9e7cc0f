// SPDX-License-Identifier: Apache-2.0
// print_signatures.cpp - the operators' signatures as lines of words, for comparison with torch's schemas.
#include <cstdio>

#include "project_query/signature.h"
#include "qsi/signature.h"
#include "qsi_plan/signature.h"
#include "sfaa/signature.h"
#include "sfaa_plan/signature.h"
#include "write_cache/signature.h"

using namespace sals::host;

namespace {

const char* kind_name(Kind kind) {
    switch (kind) {
        case Kind::INTEGER:
            return "int";
        case Kind::REAL:
            return "float";
        case Kind::FLAG:
            return "bool";
        case Kind::TEXT:
            return "str";
    }
    return "";
}

void print_ports(const char* op, const char* what, const List<Port>& ports) {
    for (const Port& port : ports) {
        std::printf("%s %s %s %s\n", op, what, port.name, port.is_required ? "required" : "optional");
    }
}

void print(const Signature& s) {
    print_ports(s.op, "input", s.inputs);
    for (const Attribute& a : s.attributes) {
        std::printf("%s attribute %s %s ", s.op, a.name, kind_name(a.kind));
        if (a.is_required) {
            std::printf("required\n");
        } else if (a.kind == Kind::TEXT) {
            std::printf("%s\n", a.text);
        } else {
            std::printf("%g\n", a.number);
        }
    }
    print_ports(s.op, "output", s.outputs);
}

}  // namespace

int main() {
    for (const Signature* s : {&QSI, &SFAA, &QSI_PLAN, &SFAA_PLAN, &PROJECT_QUERY, &WRITE_CACHE}) print(*s);
    return 0;
}
