// SPDX-License-Identifier: Apache-2.0
#include "npu/operator_library.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <vector>

namespace sals::ops {
namespace {

using std::filesystem::path;

const path LIBRARY = path("op_api") / "lib" / "libcust_opapi.so";
constexpr const char* PROBE = "aclnnSalsQsi";  // other packages have libraries of the same name

path package_folder() {
    Dl_info info{};
    dladdr(reinterpret_cast<const void*>(&package_folder), &info);
    return std::filesystem::absolute(info.dli_fname).parent_path();
}

std::vector<path> candidates() {
    std::vector<path> found = {package_folder() / "opp" / LIBRARY};
    const char* variable = std::getenv("ASCEND_CUSTOM_OPP_PATH");
    std::istringstream folders(variable == nullptr ? "" : variable);
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (!folder.empty()) found.push_back(path(folder) / LIBRARY);
    }
    return found;
}

void* load() {
    std::string tried;
    for (const path& library : candidates()) {
        void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle != nullptr && dlsym(handle, PROBE) != nullptr) return handle;
        tried +=
            "\n  " + (handle == nullptr ? std::string(dlerror()) : library.string() + " has no " + PROBE);
        if (handle != nullptr) dlclose(handle);
    }
    TORCH_CHECK(false,
                "sals: found no library of its NPU operators. Install the operator package and set "
                "ASCEND_CUSTOM_OPP_PATH to its folder. Tried:",
                tried);
}

}  // namespace

AclnnFunctions find_aclnn(const std::string& type) {
    static void* library = load();
    const std::string name = "aclnn" + type;
    const AclnnFunctions functions = {dlsym(library, (name + "GetWorkspaceSize").c_str()),
                                      dlsym(library, name.c_str())};
    TORCH_CHECK(functions.get_workspace_size != nullptr && functions.run != nullptr,
                "sals: the library of NPU operators has no ", name,
                ". It belongs to another version of sals: install the operator package of this one.");
    return functions;
}

}  // namespace sals::ops
