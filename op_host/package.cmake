# SPDX-License-Identifier: Apache-2.0
# Builds the operator package within the root project and puts it into the wheel, as sals/opp.
include(ExternalProject)

set(opp_prefix ${PROJECT_BINARY_DIR}/opp)
find_program(make_program NAMES gmake make REQUIRED)
ExternalProject_Add(sals_opp
    SOURCE_DIR ${PROJECT_SOURCE_DIR}/op_host
    BINARY_DIR ${PROJECT_BINARY_DIR}/opp-build
    CMAKE_GENERATOR "Unix Makefiles"
    CMAKE_ARGS -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE} -DCMAKE_INSTALL_PREFIX=${opp_prefix}
               -DCMAKE_MAKE_PROGRAM=${make_program}
    BUILD_ALWAYS TRUE)
install(DIRECTORY ${opp_prefix}/packages/vendors/sals/ DESTINATION sals/opp USE_SOURCE_PERMISSIONS)
