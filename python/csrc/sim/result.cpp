// SPDX-License-Identifier: Apache-2.0
// result.cpp - the outcome of a launch for Python.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "sim/export.h"

namespace py = pybind11;

namespace sals::simpy {
namespace {

constexpr std::array<const char*, 4> CHECK_NAMES = {"memcheck", "racecheck", "initcheck", "synccheck"};

py::list findings_of(const sim::LaunchResult& result) {
    py::list list;
    for (const sim::Finding& f : result.findings) {
        list.append(py::dict(py::arg("check") = CHECK_NAMES.at(static_cast<size_t>(f.check)),
                             py::arg("core") = f.core, py::arg("file") = f.where.file,
                             py::arg("line") = f.where.line, py::arg("other_file") = f.other.file,
                             py::arg("other_line") = f.other.line, py::arg("text") = f.text));
    }
    return list;
}

py::list cores_of(const sim::LaunchResult& result) {
    py::list list;
    for (const sim::CoreCounters& core : result.cores) {
        py::dict pipes;
        for (int p = 0; p < sim::NUM_PIPES; ++p) {
            const sim::PipeCounters& counters = core.pipe[p];
            pipes[sim::name_of(static_cast<sim::Pipe>(p))] =
                py::make_tuple(counters.busy, counters.wait, counters.instructions);
        }
        list.append(py::make_tuple(core.name, core.end, pipes));
    }
    return list;
}

py::list instructions_of(const sim::LaunchResult& result) {
    py::list list;
    for (const sim::InstructionCount& i : result.instructions) {
        list.append(py::make_tuple(i.name, i.count, i.cycles));
    }
    return list;
}

py::list sync_sites_of(const sim::LaunchResult& result) {
    py::list list;
    for (const sim::SyncSite& site : result.sync_sites) {
        list.append(py::dict(py::arg("key") = site.key, py::arg("pair") = site.pair,
                             py::arg("file") = site.where.file, py::arg("line") = site.where.line,
                             py::arg("count") = site.count));
    }
    return list;
}

// Numbers texts in the order of their first use.
class TextTable {
public:
    int32_t index(const char* text) {
        const auto [place, is_new] = places_.emplace(text, static_cast<int32_t>(texts_.size()));
        if (is_new) texts_.emplace_back(text);
        return place->second;
    }
    const std::vector<std::string>& texts() const { return texts_; }

private:
    std::map<std::string, int32_t> places_;
    std::vector<std::string> texts_;
};

template <class T, class Get>
py::array_t<T> column(const std::vector<sim::TraceEvent>& events, Get&& get) {
    py::array_t<T> values(static_cast<py::ssize_t>(events.size()));
    T* out = values.mutable_data();
    for (const sim::TraceEvent& event : events) *out++ = get(event);
    return values;
}

// Columns, because a trace may have millions of events.
py::dict trace_of(const std::vector<sim::TraceEvent>& events) {
    using Event = sim::TraceEvent;
    TextTable names, files;
    py::dict trace;
    trace["core"] = column<int32_t>(events, [](const Event& e) { return e.core; });
    trace["pipe"] = column<int32_t>(events, [](const Event& e) { return static_cast<int32_t>(e.pipe); });
    trace["begin"] = column<double>(events, [](const Event& e) { return e.begin; });
    trace["end"] = column<double>(events, [](const Event& e) { return e.end; });
    trace["line"] = column<int32_t>(events, [](const Event& e) { return e.where.line; });
    trace["name"] = column<int32_t>(events, [&names](const Event& e) { return names.index(e.name); });
    trace["file"] = column<int32_t>(events, [&files](const Event& e) { return files.index(e.where.file); });
    trace["names"] = names.texts();
    trace["files"] = files.texts();
    return trace;
}

}  // namespace

py::dict result_to_python(const sim::LaunchResult& result) {
    py::dict dict;
    dict["findings"] = findings_of(result);
    dict["cycles"] = result.cycles;
    dict["launch_cycles"] = result.launch_cycles;
    dict["hbm_read_bytes"] = result.hbm_read_bytes;
    dict["hbm_write_bytes"] = result.hbm_write_bytes;
    dict["l2_read_bytes"] = result.l2_read_bytes;
    dict["l2_write_bytes"] = result.l2_write_bytes;
    dict["region_read_bytes"] = result.region_read_bytes;
    dict["region_write_bytes"] = result.region_write_bytes;
    dict["cores"] = cores_of(result);
    dict["instructions"] = instructions_of(result);
    dict["sync_sites"] = sync_sites_of(result);
    dict["trace"] = trace_of(result.trace);
    return dict;
}

}  // namespace sals::simpy
