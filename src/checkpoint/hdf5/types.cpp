#include "checkpoint/hdf5/types.hpp"

#include <bit>
#include <cstdint>

#include "checkpoint/hdf5/check.hpp"

namespace lockstep::checkpoint::hdf5 {
namespace {

static_assert(std::endian::native == std::endian::little, "checkpoints are written from memory as it stands");

Handle copy_of(hid_t type) {
  return Handle(LOCKSTEP_HDF5(H5Tcopy(type)), H5Tclose);
}

// A 16-bit float with the sign on top, then `exponent` bits, then the fraction with its implied leading one.
Handle half_float(std::size_t exponent, std::size_t bias) {
  const std::size_t fraction = 15 - exponent;
  Handle type = copy_of(H5T_IEEE_F32LE);
  LOCKSTEP_HDF5(H5Tset_fields(type.get(), 15, fraction, exponent, 0, fraction));
  LOCKSTEP_HDF5(H5Tset_precision(type.get(), 16));
  LOCKSTEP_HDF5(H5Tset_size(type.get(), 2));
  LOCKSTEP_HDF5(H5Tset_ebias(type.get(), bias));
  return type;
}

Handle boolean() {
  Handle type(LOCKSTEP_HDF5(H5Tenum_create(H5T_STD_I8LE)), H5Tclose);
  const std::int8_t no = 0;
  const std::int8_t yes = 1;
  LOCKSTEP_HDF5(H5Tenum_insert(type.get(), "FALSE", &no));
  LOCKSTEP_HDF5(H5Tenum_insert(type.get(), "TRUE", &yes));
  return type;
}

Handle make(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32:
      return copy_of(H5T_IEEE_F32LE);
    case Dtype::float64:
      return copy_of(H5T_IEEE_F64LE);
    case Dtype::bfloat16:
      return half_float(8, 127);
    case Dtype::float16:
      return half_float(5, 15);
    case Dtype::int32:
      return copy_of(H5T_STD_I32LE);
    case Dtype::int64:
      return copy_of(H5T_STD_I64LE);
    case Dtype::uint8:
      return copy_of(H5T_STD_U8LE);
    case Dtype::boolean:
      return boolean();
  }
  return {};
}

}  // namespace

TypeTable::TypeTable() {
  for (std::size_t i = 0; i < types_.size(); ++i) types_[i] = make(static_cast<Dtype>(i));
}

std::optional<Dtype> TypeTable::recognise(hid_t type) const {
  for (std::size_t i = 0; i < types_.size(); ++i) {
    if (LOCKSTEP_HDF5(H5Tequal(type, types_[i].get())) > 0) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

Handle fixed_text(std::size_t length) {
  Handle type = copy_of(H5T_C_S1);
  LOCKSTEP_HDF5(H5Tset_size(type.get(), length));
  LOCKSTEP_HDF5(H5Tset_strpad(type.get(), H5T_STR_NULLPAD));
  return type;
}

}  // namespace lockstep::checkpoint::hdf5
