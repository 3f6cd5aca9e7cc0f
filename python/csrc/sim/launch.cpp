// SPDX-License-Identifier: Apache-2.0
// launch.cpp - from named NumPy arrays to GM regions, and the launch itself.
#include "engine/launch.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/cost_table.h"
#include "engine/memory.h"
#include "sim/export.h"
#include "sim/kernel_library.h"

namespace py = pybind11;

namespace sals::simpy {
namespace {

using sim::GmRegion;
using sim::LaunchOptions;
using Role = GmRegion::Role;
using NamedArgument = std::tuple<std::string, py::object, std::string>;  // name, value, role

Role role_named(const std::string& name) {
    if (name == "input") return Role::INPUT;
    if (name == "output") return Role::OUTPUT;
    if (name == "inout") return Role::INOUT;
    if (name == "workspace") return Role::WORKSPACE;
    throw py::value_error("sals: role must be input, output, inout or workspace, got " + name);
}

GmRegion region_of(const std::string& name, const py::array& array, Role role) {
    if ((array.flags() & py::array::c_style) == 0) {
        throw py::value_error("sals: " + name + " must be contiguous, got a strided array");
    }
    if (role != Role::INPUT && !array.writeable()) {
        throw py::value_error("sals: " + name + " must be writeable, because the kernel writes it");
    }
    return {name, static_cast<uint8_t*>(const_cast<void*>(array.data())),
            static_cast<uint64_t>(array.nbytes()), role};
}

// What the entry is called with, and the GM that it may touch.
struct Call {
    std::vector<KernelArgument> arguments;
    std::vector<GmRegion> regions;
};

void add_argument(Call& call, const NamedArgument& argument) {
    const auto& [name, value, role] = argument;
    if (value.is_none()) {
        call.arguments.push_back(nullptr);
    } else if (py::isinstance<py::int_>(value)) {
        call.arguments.push_back(reinterpret_cast<KernelArgument>(value.cast<int64_t>()));
    } else if (py::isinstance<py::array>(value)) {
        const GmRegion region = region_of(name, value.cast<py::array>(), role_named(role));
        call.arguments.push_back(region.data);
        if (region.bytes > 0) call.regions.push_back(region);
    } else {
        throw py::type_error("sals: " + name + " must be an array, an int or None, got " +
                             py::str(py::type::of(value)).cast<std::string>());
    }
}

void refuse_shared_memory(std::vector<GmRegion> regions) {
    std::sort(regions.begin(), regions.end(),
              [](const GmRegion& a, const GmRegion& b) { return a.data < b.data; });
    for (size_t i = 1; i < regions.size(); ++i) {
        if (regions[i - 1].data + regions[i - 1].bytes > regions[i].data) {
            throw py::value_error("sals: " + regions[i - 1].name + " and " + regions[i].name +
                                  " must not share memory");
        }
    }
}

Call read_call(const std::vector<NamedArgument>& arguments) {
    if (arguments.empty() || arguments.size() > MAX_KERNEL_ARGUMENTS) {
        throw py::value_error("sals: a kernel must have 1 to " + std::to_string(MAX_KERNEL_ARGUMENTS) +
                              " arguments, got " + std::to_string(arguments.size()));
    }
    Call call;
    for (const NamedArgument& argument : arguments) add_argument(call, argument);
    refuse_shared_memory(call.regions);
    for (const GmRegion& region : call.regions) {
        const bool defined = region.role == Role::INPUT || region.role == Role::INOUT;
        if (!defined) std::memset(region.data, sim::POISON_BYTE, region.bytes);
    }
    return call;
}

py::dict launch_kernel(const std::string& path, const std::string& name,
                       const std::vector<NamedArgument>& arguments, const LaunchOptions& options) {
    const Call call = read_call(arguments);
    const KernelLibrary library(path);  // results point into it until they are Python's
    void* entry = library.entry(name);
    sim::LaunchResult result;
    {
        const py::gil_scoped_release release;
        result = sim::launch([&] { call_entry(entry, call.arguments); }, call.regions, options);
    }
    return result_to_python(result);
}

}  // namespace

void export_launch(py::module_& module) {
    py::class_<LaunchOptions>(module, "LaunchOptions")
        .def(py::init<>())
        .def_readwrite("cores", &LaunchOptions::cores)
        .def_readwrite("vectors_per_cube", &LaunchOptions::vectors_per_cube)
        .def_readwrite("cube_cores", &LaunchOptions::cube_cores)
        .def_readwrite("seed", &LaunchOptions::seed)
        .def_readwrite("race_detection", &LaunchOptions::race_detection)
        .def_readwrite("auto_sync", &LaunchOptions::auto_sync)
        .def_readwrite("batch_schedule", &LaunchOptions::batch_schedule)
        .def_readwrite("trace", &LaunchOptions::trace)
        .def_readwrite("clock_ghz", &LaunchOptions::clock_ghz)
        .def_readwrite("max_findings", &LaunchOptions::max_findings)
        .def_property(
            "mutation",
            [](const LaunchOptions& o) { return std::make_pair(o.mutation.site, o.mutation.sub_block); },
            [](LaunchOptions& o, std::pair<std::string, int> value) {
                o.mutation = {std::move(value.first), value.second};
            },
            "(key or pair of a synchronisation to leave out, vector core of each pair that does or -1)");
    module.def("launch", launch_kernel, py::arg("library"), py::arg("entry"), py::arg("arguments"),
               py::arg("options"),
               "Run an entry of a kernel library. arguments: (name, array, int or None, role) in order.");
    module.attr("MAX_KERNEL_ARGUMENTS") = MAX_KERNEL_ARGUMENTS;
    py::list pipes;
    for (int p = 0; p < sim::NUM_PIPES; ++p) pipes.append(sim::name_of(static_cast<sim::Pipe>(p)));
    module.attr("PIPES") = py::tuple(pipes);
    module.attr("HBM_BYTES_PER_NS") = sim::table::HBM_BYTES_PER_NS;
    module.attr("HBM_READ_RATE") = sim::table::HBM_READ_RATE;
    module.attr("L2_BYTES_PER_NS") = sim::table::L2_BYTES_PER_NS;
    module.attr("L2_READ_RATE") = sim::table::L2_READ_RATE;
}

}  // namespace sals::simpy
