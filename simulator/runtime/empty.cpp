// SPDX-License-Identifier: Apache-2.0
// empty.cpp - the whole of a library that only has to exist.
