#include "checkpoint/hdf5/conventions.hpp"

#include <cstdlib>

#include "checkpoint/hdf5/check.hpp"

namespace lockstep::checkpoint::hdf5 {
namespace {

#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
void switch_off_locks(hid_t access) {
  LOCKSTEP_HDF5(H5Pset_file_locking(access, false, true));
}
#else
void switch_off_locks(hid_t) {
  ::setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0);
}
#endif

}  // namespace

Handle file_access() {
  silence();
  Handle access(LOCKSTEP_HDF5(H5Pcreate(H5P_FILE_ACCESS)), H5Pclose);
  LOCKSTEP_HDF5(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110));
  switch_off_locks(access.get());
  return access;
}

}  // namespace lockstep::checkpoint::hdf5
