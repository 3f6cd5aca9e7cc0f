// SPDX-License-Identifier: Apache-2.0
#include "acl/device_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace sals::npu {
namespace {

constexpr size_t GRANULE = 512;

uint8_t* map(int file, size_t bytes, int access) {
    void* address = mmap(nullptr, bytes, access, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (address == MAP_FAILED) {
        throw std::system_error(errno, std::generic_category(), "sals: cannot map the memory of a device");
    }
    return static_cast<uint8_t*>(address);
}

}  // namespace

DeviceMemory::DeviceMemory(size_t bytes, bool protect) : bytes_(bytes) {
    const int file = memfd_create("sals_npu", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
        throw std::system_error(errno, std::generic_category(), "sals: cannot make the memory of a device");
    }
    visible_ = map(file, bytes, protect ? PROT_NONE : PROT_READ | PROT_WRITE);
    window_ = map(file, bytes, PROT_READ | PROT_WRITE);
    close(file);
}

DeviceMemory::~DeviceMemory() {
    munmap(visible_, bytes_);
    munmap(window_, bytes_);
}

void* DeviceMemory::allocate(size_t bytes) {
    const size_t whole = (bytes + GRANULE - 1) / GRANULE * GRANULE;
    const std::lock_guard<std::mutex> lock(mutex_);
    size_t begin = 0;
    for (const auto& [offset, used] : used_) {
        if (offset - begin >= whole) break;
        begin = offset + used;
    }
    if (whole == 0 || whole > bytes_ - begin) return nullptr;
    used_[begin] = whole;
    std::memset(window_ + begin, POISON, whole);
    return visible_ + begin;
}

bool DeviceMemory::free(void* address) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = owns(address) ? used_.find(offset_of(address)) : used_.end();
    if (found == used_.end()) return false;
    madvise(window_ + found->first, found->second, MADV_REMOVE);  // gives the pages back, if whole
    used_.erase(found);
    return true;
}

bool DeviceMemory::owns(const void* address) const {
    const auto* byte = static_cast<const uint8_t*>(address);
    return byte >= visible_ && byte < visible_ + bytes_;
}

size_t DeviceMemory::offset_of(const void* address) const {
    return static_cast<size_t>(static_cast<const uint8_t*>(address) - visible_);
}

uint8_t* DeviceMemory::window(const void* address) const { return window_ + offset_of(address); }

size_t DeviceMemory::bytes_from(const void* address) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t offset = offset_of(address);
    auto next = used_.upper_bound(offset);
    if (next == used_.begin()) return 0;
    const auto& [begin, used] = *--next;
    return offset < begin + used ? begin + used - offset : 0;
}

size_t DeviceMemory::free_bytes() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    size_t free = bytes_;
    for (const auto& [offset, used] : used_) free -= used;
    return free;
}

}  // namespace sals::npu
