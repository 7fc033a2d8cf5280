#include "kernel.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lockstep::nccl_double {
namespace {

std::size_t size_of(ncclDataType_t type) {
  return type == ncclInt8 ? 1 : type == ncclFloat32 ? 4 : 8;
}

template <class T>
void accumulate(std::byte* into, const std::byte* from, std::size_t count, ncclRedOp_t op) {
  T* left = reinterpret_cast<T*>(into);
  const T* right = reinterpret_cast<const T*>(from);
  for (std::size_t i = 0; i < count; ++i) {
    left[i] = op == ncclSum   ? left[i] + right[i]
              : op == ncclMax ? std::max(left[i], right[i])
                              : std::min(left[i], right[i]);
  }
}

void accumulate(std::byte* into, const std::byte* from, const Call& call) {
  if (call.type == ncclFloat32) return accumulate<float>(into, from, call.count, call.op);
  if (call.type == ncclFloat64) return accumulate<double>(into, from, call.count, call.op);
  if (call.type == ncclInt64) return accumulate<std::int64_t>(into, from, call.count, call.op);
  violate("a reduction of a type that the double does not know");
}

}  // namespace

std::size_t Call::bytes() const {
  return count * size_of(type);
}

Kernel::Kernel(ncclComm_t communicator, std::vector<Call> calls)
    : communicator_(communicator), calls_(std::move(calls)), parts_(calls_.size()) {}

bool Kernel::step() {
  if (behaviour().kernels_hang) return false;
  if (!started_) start();
  int complete = 0;
  MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &complete, MPI_STATUSES_IGNORE);
  if (complete == 0) return false;
  for (std::size_t i = 0; i < calls_.size(); ++i) finish(calls_[i], parts_[i]);
  return true;
}

void Kernel::start() {
  started_ = true;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    parts_[i].resize(static_cast<std::size_t>(communicator_->size));
    start(calls_[i], parts_[i]);
  }
}

void Kernel::start(const Call& call, std::vector<Bytes>& parts) {
  const std::size_t bytes = call.bytes();
  for (int r = 0; r < communicator_->size; ++r) {
    Bytes& part = parts[static_cast<std::size_t>(r)];
    const bool mine = r == call.peer;
    const bool i_am_it = communicator_->rank == call.peer;
    switch (call.kind) {
      case Call::Kind::reduce_scatter:
        post_send(call.from + static_cast<std::size_t>(r) * bytes, bytes, r);
        post_receive(part, bytes, r);
        break;
      case Call::Kind::all_reduce:
      case Call::Kind::all_gather:
        post_send(call.from, bytes, r);
        post_receive(part, bytes, r);
        break;
      case Call::Kind::reduce:
        if (mine) post_send(call.from, bytes, r);
        if (i_am_it) post_receive(part, bytes, r);
        break;
      case Call::Kind::broadcast:
        if (i_am_it) post_send(call.from, bytes, r);
        if (mine) post_receive(part, bytes, r);
        break;
      case Call::Kind::send:
        if (mine) post_send(call.from, bytes, r);
        break;
      case Call::Kind::receive:
        if (mine) post_receive(part, bytes, r);
        break;
    }
  }
}

// Synchronous: complete only once it is received.
void Kernel::post_send(const std::byte* data, std::size_t bytes, int to) {
  sent_.emplace_back(data, data + bytes);
  requests_.emplace_back();
  MPI_Issend(sent_.back().data(), static_cast<int>(bytes), MPI_BYTE, to, communicator_->tag, messages(),
             &requests_.back());
}

void Kernel::post_receive(Bytes& part, std::size_t bytes, int from) {
  part.resize(bytes);
  requests_.emplace_back();
  MPI_Irecv(part.data(), static_cast<int>(bytes), MPI_BYTE, from, communicator_->tag, messages(),
            &requests_.back());
}

void Kernel::finish(const Call& call, const std::vector<Bytes>& parts) const {
  const std::size_t bytes = call.bytes();
  const auto write = [&](std::byte* to, const Bytes& part) {
    if (!part.empty()) std::memcpy(to, part.data(), part.size());
  };
  switch (call.kind) {
    case Call::Kind::reduce_scatter:
    case Call::Kind::all_reduce:
    case Call::Kind::reduce:
      if (parts.front().empty()) return;  // a reduction for another rank
      write(call.to, parts.back());
      for (std::size_t r = parts.size() - 1; r-- > 0;) accumulate(call.to, parts[r].data(), call);
      return;
    case Call::Kind::all_gather:
      for (std::size_t r = 0; r < parts.size(); ++r) write(call.to + r * bytes, parts[r]);
      return;
    case Call::Kind::broadcast:
    case Call::Kind::receive:
      return write(call.to, parts[static_cast<std::size_t>(call.peer)]);
    case Call::Kind::send:
      return;
  }
}

}  // namespace lockstep::nccl_double
