// SPDX-License-Identifier: Apache-2.0
// bandwidth.cpp - max-min fair shares of HBM and L2 among the transfers in flight.
//
// A transfer advances at one rate for all of its bytes. Alone it is bound by its core: misses at hbm_rate,
// then hits at l2_rate. Together, the flows with misses share the HBM first, each up to what its core can
// take; then all flows share the L2, which misses cross too. Two things slow a flow down beforehand: parts of
// lines that pass the L2 wait for their turn at the HBM, and lines that several flows touch serve one request
// after another. Shares change when a flow starts or ends, and only then.
#include <algorithm>
#include <limits>
#include <vector>

#include "engine/cost_table.h"
#include "engine/line_queues.h"
#include "engine/transfer.h"

namespace sals::sim {
namespace {

struct Flow {
    int id;
    double remaining;     // bytes of load
    double hbm_fraction;  // of the load
    double alone;         // bytes per cycle without others
    double direct = 0;    // fraction of the load: parts of lines past the L2
    double per_line = 0;  // bytes of load per line; 0: no lines known
    double rate = 0;
    double end = 0;  // cycle, if nothing changes
};

// The largest share such that sum(min(want, share)) fits into the capacity; infinity if everybody gets all.
template <class Want>
double fair_share(const std::vector<Flow>& flows, double capacity, const Want& want) {
    double total = 0;
    for (const Flow& flow : flows) total += want(flow);
    if (total <= capacity) return std::numeric_limits<double>::infinity();
    double share = 0;
    for (double before = -1; share > before;) {  // flows that want less than the share leave it to the others
        before = share;
        double left = capacity;
        int open = 0;
        for (const Flow& flow : flows) {
            if (want(flow) <= share) {
                left -= want(flow);
            } else {
                ++open;
            }
        }
        if (open > 0) share = std::max(share, left / open);
    }
    return share;
}

}  // namespace

struct Bandwidth::State {
    double hbm_capacity, l2_capacity;  // bytes per cycle
    double line_requests;              // per cycle, of a core for lines that it has for itself
    LineQueues queues;
    std::vector<Flow> flows;
    double now = 0;
    int next_id = 0;

    void advance(double to) {
        for (Flow& flow : flows) flow.remaining = std::max(0.0, flow.remaining - flow.rate * (to - now));
        now = to;
    }

    // Before HBM and L2 are shared. A part of a line that passes the L2 waits until the HBM has served one of
    // every flow, and then crosses the core's port; through the L2 the two overlap.
    void slow_down() {
        double turn = 0;  // of the HBM, in times of the core's port
        for (const Flow& flow : flows) turn += flow.alone * flow.hbm_fraction / hbm_capacity;
        for (Flow& flow : flows) {
            flow.rate = flow.alone / (1 + flow.direct * turn);
            if (flow.per_line == 0) continue;
            flow.rate = std::min(flow.rate, flow.per_line * line_requests / queues.length(flow.id));
        }
    }

    void share() {
        slow_down();
        const auto from_hbm = [](const Flow& flow) { return flow.rate * flow.hbm_fraction; };
        const double hbm_share = fair_share(flows, hbm_capacity, from_hbm);
        for (Flow& flow : flows) {
            if (from_hbm(flow) > hbm_share) flow.rate = hbm_share / flow.hbm_fraction;
        }
        const double l2_share = fair_share(flows, l2_capacity, [](const Flow& flow) { return flow.rate; });
        for (Flow& flow : flows) {
            flow.rate = std::min(flow.rate, l2_share);
            flow.end = now + flow.remaining / flow.rate;
        }
    }

    std::vector<Flow>::const_iterator first_to_end() const {
        return std::min_element(flows.begin(), flows.end(), [](const Flow& a, const Flow& b) {
            return a.end != b.end ? a.end < b.end : a.id < b.id;
        });
    }
};

Bandwidth::Bandwidth(double clock_ghz) : state_(std::make_unique<State>()) {
    state_->hbm_capacity = table::HBM_BYTES_PER_NS / clock_ghz;
    state_->l2_capacity = table::L2_BYTES_PER_NS / clock_ghz;
    state_->line_requests = table::LINE_REQUESTS_PER_NS / clock_ghz;
}
Bandwidth::~Bandwidth() = default;

int Bandwidth::start(double now, const Transfer& transfer) {
    const double load = transfer.hbm_load + transfer.hit_load;
    Flow flow{state_->next_id++, load, 0, transfer.l2_rate};
    if (load > 0) {
        flow.hbm_fraction = transfer.hbm_load / load;
        flow.alone = load / (transfer.hbm_load / transfer.hbm_rate + transfer.hit_load / transfer.l2_rate);
        flow.direct = transfer.direct_load / load;
        if (!transfer.lines.empty()) flow.per_line = load / static_cast<double>(transfer.lines.size());
    }
    state_->queues.enter(flow.id, transfer.lines);
    state_->advance(now);
    state_->flows.push_back(flow);
    state_->share();
    return flow.id;
}

double Bandwidth::next_completion() const {
    const auto first = state_->first_to_end();
    return first == state_->flows.end() ? std::numeric_limits<double>::infinity() : first->end;
}

int Bandwidth::complete_next() {
    const auto first = state_->first_to_end();
    const int id = first->id;
    state_->advance(first->end);
    state_->queues.leave(id);
    state_->flows.erase(first);
    state_->share();
    return id;
}

}  // namespace sals::sim
