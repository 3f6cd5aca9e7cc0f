// SPDX-License-Identifier: Apache-2.0
// names.h - the words by which callers choose layouts and orders, and their enum values. Host only.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "sals/kv_layout.h"
#include "sals/selection.h"

namespace sals {

template <class Enum>
struct Named {
    const char* name;
    Enum value;
};

inline constexpr std::array<Named<KvLayout>, 5> KV_LAYOUTS = {{{"BSND", KvLayout::BSND},
                                                               {"PA_BSND", KvLayout::PA_BSND},
                                                               {"PA_BNSD", KvLayout::PA_BNSD},
                                                               {"PA_NZ", KvLayout::PA_NZ},
                                                               {"PA_KV", KvLayout::PA_KV}}};
inline constexpr std::array<Named<QueryLayout>, 2> QUERY_LAYOUTS = {
    {{"BSND", QueryLayout::BSND}, {"TND", QueryLayout::TND}}};
inline constexpr std::array<Named<SelectionOrder>, 2> SELECTION_ORDERS = {
    {{"index", SelectionOrder::INDEX}, {"score", SelectionOrder::SCORE}}};

template <class Enum, size_t N>
std::optional<Enum> value_named(const std::array<Named<Enum>, N>& table, std::string_view name) {
    for (const Named<Enum>& entry : table) {
        if (name == entry.name) return entry.value;
    }
    return std::nullopt;
}

template <class Enum, size_t N>
std::string names_in(const std::array<Named<Enum>, N>& table) {
    std::string text;
    for (const Named<Enum>& entry : table) text += std::string(text.empty() ? "" : ", ") + entry.name;
    return text;
}

}  // namespace sals
