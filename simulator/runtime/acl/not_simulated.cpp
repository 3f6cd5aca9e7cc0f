// SPDX-License-Identifier: Apache-2.0
// not_simulated.cpp - functions that libtorch_npu.so needs and that this runtime lacks: operators of the old
// kind (aclop), to which torch_npu turns where libopapi lacks an operator; dumps; sharing of memory between
// processes; memory that grows; kernel binaries. A call fails and says its name. No ACL header is included
// here: only the names matter.
#include <cstdio>
#include <string>

namespace sals::npu {
int fail(int code, const std::string& text);
}

namespace {

constexpr int FEATURE_UNSUPPORTED = 200006;

int refuse(const char* function) {
    const std::string text = std::string(function) + " is not simulated";
    std::fprintf(stderr, "sals simulated runtime: %s\n", text.c_str());
    return sals::npu::fail(FEATURE_UNSUPPORTED, text);
}

void* refuse_pointer(const char* function) {
    refuse(function);
    return nullptr;
}

}  // namespace

#define NOT_SIMULATED(function) \
    extern "C" int function() { return refuse(#function); }
#define NOT_SIMULATED_POINTER(function) \
    extern "C" void* function() { return refuse_pointer(#function); }

// The first function of the old kind that torch_npu calls.
extern "C" int aclSetCompileopt() {
    return refuse("aclSetCompileopt, for an operator that opapi/operators.cpp lacks,");
}

NOT_SIMULATED_POINTER(aclCreateDataBuffer)
NOT_SIMULATED_POINTER(aclCreateTensorDesc)
NOT_SIMULATED_POINTER(aclopCreateAttr)
NOT_SIMULATED(aclDestroyDataBuffer)
NOT_SIMULATED(aclDestroyTensorDesc)
NOT_SIMULATED(aclGetTensorDescDimV2)
NOT_SIMULATED(aclGetTensorDescFormat)
NOT_SIMULATED(aclGetTensorDescNumDims)
NOT_SIMULATED(aclGetTensorDescType)
NOT_SIMULATED(aclSetTensorDescName)
NOT_SIMULATED(aclSetTensorFormat)
NOT_SIMULATED(aclSetTensorPlaceMent)
NOT_SIMULATED(aclSetTensorShape)
NOT_SIMULATED(aclopCompileAndExecute)
NOT_SIMULATED(aclopCompileAndExecuteV2)
NOT_SIMULATED(aclopDestroyAttr)
NOT_SIMULATED(aclopSetAttrBool)
NOT_SIMULATED(aclopSetAttrDataType)
NOT_SIMULATED(aclopSetAttrFloat)
NOT_SIMULATED(aclopSetAttrInt)
NOT_SIMULATED(aclopSetAttrListBool)
NOT_SIMULATED(aclopSetAttrListFloat)
NOT_SIMULATED(aclopSetAttrListInt)
NOT_SIMULATED(aclopSetAttrListListInt)
NOT_SIMULATED(aclopSetAttrString)
NOT_SIMULATED(aclmdlFinalizeDump)
NOT_SIMULATED(aclmdlInitDump)
NOT_SIMULATED(aclmdlSetDump)
NOT_SIMULATED(aclrtBinaryGetFunction)
NOT_SIMULATED(aclrtBinaryLoadFromData)
NOT_SIMULATED(aclrtDeviceGetBareTgid)
NOT_SIMULATED(aclrtFreePhysical)
NOT_SIMULATED(aclrtGetFunctionAddr)
NOT_SIMULATED(aclrtMallocPhysical)
NOT_SIMULATED(aclrtMapMem)
NOT_SIMULATED(aclrtMemExportToShareableHandle)
NOT_SIMULATED(aclrtMemImportFromShareableHandle)
NOT_SIMULATED(aclrtMemSetPidToShareableHandle)
NOT_SIMULATED(aclrtProcessReport)
NOT_SIMULATED(aclrtReleaseMemAddress)
NOT_SIMULATED(aclrtReserveMemAddress)
NOT_SIMULATED(aclrtUnmapMem)
NOT_SIMULATED(rtDevBinaryRegister)
NOT_SIMULATED(rtFunctionRegister)
NOT_SIMULATED(rtGetC2cCtrlAddr)
NOT_SIMULATED(rtKernelLaunch)
