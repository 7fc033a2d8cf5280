// Owns one HDF5 identifier of any kind.
#pragma once

#include <hdf5.h>

namespace lockstep::checkpoint::hdf5 {

class Handle {
 public:
  Handle() noexcept = default;
  // Takes `id`, which must be valid (wrap the call in LOCKSTEP_HDF5), and the H5?close function of its kind.
  Handle(hid_t id, herr_t (*closer)(hid_t)) noexcept : id_(id), closer_(closer) {}
  ~Handle();  // a failed close is ignored: whoever must know calls close()
  Handle(Handle&& other) noexcept;
  Handle& operator=(Handle&& other) noexcept;

  hid_t get() const noexcept { return id_; }
  explicit operator bool() const noexcept { return id_ >= 0; }
  // Closes now. Throws IoError.
  void close();

 private:
  hid_t id_ = -1;
  herr_t (*closer_)(hid_t) = nullptr;
};

}  // namespace lockstep::checkpoint::hdf5
