# SPDX-License-Identifier: Apache-2.0
# The AI CPU tasks of the operator package. AI CPUs are aarch64 cores with a compiler of their own, whatever the
# host is; CANN has no CMake function for them, so the compiler is called directly.
set(SALS_AICPU_COMPILER "${ASCEND_CANN_PACKAGE_PATH}/toolkit/toolchain/hcc/bin/aarch64-target-linux-gnu-g++"
    CACHE FILEPATH "Compiler for the AI CPUs")
set(SALS_AICPU_LIBRARIES "${ASCEND_CANN_PACKAGE_PATH}/lib64" CACHE PATH
    "Folder with libaicpu_context.a and libbase_ascend_protobuf.a")
foreach(needed IN ITEMS "${SALS_AICPU_COMPILER}" "${SALS_AICPU_LIBRARIES}/libaicpu_context.a"
                        "${SALS_AICPU_LIBRARIES}/libbase_ascend_protobuf.a")
    if(NOT EXISTS "${needed}")
        message(FATAL_ERROR "sals: AI CPU tasks need ${needed}, which this CANN does not have. "
                            "Set SALS_AICPU_COMPILER or SALS_AICPU_LIBRARIES to where it is.")
    endif()
endforeach()

file(GLOB aicpu_sources CONFIGURE_DEPENDS ${sals_root}/aicpu_tiling/aicpu/*.cpp
     ${sals_root}/aicpu_tiling/*.cpp ${sals_root}/aicpu_tiling/planner/*.cpp)
file(GLOB_RECURSE aicpu_headers CONFIGURE_DEPENDS ${sals_root}/aicpu_tiling/*.h ${sals_root}/include/sals/*.h)
set(aicpu_library ${CMAKE_CURRENT_BINARY_DIR}/libsals_aicpu_kernels.so)
# Floats as in every other build of the planner: no contraction.
add_custom_command(OUTPUT ${aicpu_library}
    COMMAND ${SALS_AICPU_COMPILER} -shared -fPIC -O2 -std=c++17 -ffp-contract=off -fvisibility=hidden
            -D_GLIBCXX_USE_CXX11_ABI=1 -Dgoogle=ascend_private
            -I${sals_root}/include -I${sals_root}/aicpu_tiling
            -isystem ${ASCEND_CANN_PACKAGE_PATH}/include/aicpu
            ${aicpu_sources}
            -Wl,--whole-archive ${SALS_AICPU_LIBRARIES}/libaicpu_context.a
            ${SALS_AICPU_LIBRARIES}/libbase_ascend_protobuf.a -Wl,--no-whole-archive
            -Wl,-Bsymbolic -Wl,--exclude-libs=libbase_ascend_protobuf.a -s -o ${aicpu_library}
    DEPENDS ${aicpu_sources} ${aicpu_headers}
    COMMENT "Building the AI CPU tasks"
    VERBATIM)
add_custom_target(sals_aicpu_kernels ALL DEPENDS ${aicpu_library})
npu_op_package_add(sals FILES ${aicpu_library} PACKAGE_PATH op_impl/cpu/aicpu_kernel/impl)
npu_op_package_add(sals FILES ${sals_root}/aicpu_tiling/aicpu/cust_aicpu_kernel.json PACKAGE_PATH op_impl/cpu/config)
