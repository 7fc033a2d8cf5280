// Damaged, cut and foreign files: each refused with its path and what is wrong.
#include <gmock/gmock.h>
#include <hdf5.h>
#include <sys/stat.h>

#include <random>

#include "checkpoint/example_state.hpp"
#include "checkpoint/shared_folder.hpp"
#include "checkpoint/user_block.hpp"
#include "lockstep/checkpoint/checkpoint.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::checkpoint {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Damage : public WithRanks {
 protected:
  void SetUp() override {
    WithRanks::SetUp();
    Writer writer(collectives(), {.directory = directory()});
    ExampleState state(example_tensors(), Spread::replicated, 0, 1);
    state.fill();
    Contents contents;
    contents.state = state.view();
    contents.round = 1;
    contents.history["return_mean"] = {1.0, 2.0};
    contents.provenance["host"] = "somewhere";
    path_ = writer.write(contents);
    good_ = read_file(path_);
  }
  std::string refusal(bool trusted = false) {
    return message_of<CheckpointError>([&] { Reader reader(path_, trusted); });
  }
  // Lets HDF5 change the file, then makes it whole again, so that only the change itself can be found.
  template <class Change>
  void change_and_seal(Change&& change) {
    const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    ASSERT_GE(file, 0);
    change(file);
    ASSERT_GE(H5Fclose(file), 0);
    seal(path_);
  }
  void set_version(std::int64_t version) {
    change_and_seal([&](hid_t file) {
      const hid_t attribute = H5Aopen(file, "format_version", H5P_DEFAULT);
      H5Awrite(attribute, H5T_NATIVE_INT64, &version);
      H5Aclose(attribute);
    });
  }
  std::string path_;
  std::string good_;
};

TEST_F(Damage, TheUndamagedFileIsGood) {
  EXPECT_NO_THROW(verify(path_));
  EXPECT_NO_THROW(Reader(path_, true));
}

TEST_F(Damage, EveryTruncationIsFound) {
  const std::size_t n = good_.size();
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{511}, std::size_t{512}, std::size_t{513},
        std::size_t{560}, n / 4, n / 2, n * 99 / 100, n - 1}) {
    write_file(path_, good_.substr(0, length));
    EXPECT_THAT(refusal(), HasSubstr(path_)) << length;
    EXPECT_THAT(refusal(true), HasSubstr(path_)) << length;
    EXPECT_THROW(verify(path_), CheckpointError) << length;
  }
}

TEST_F(Damage, OneFlippedBitAnywhereIsFound) {
  std::mt19937_64 random(20240607);
  std::vector<std::size_t> bits;
  for (std::size_t bit = 0; bit < 8 * 64; bit += 5) bits.push_back(bit);         // the user block's fields
  for (std::size_t bit = 8 * 512; bit < 8 * 612; bit += 9) bits.push_back(bit);  // HDF5's superblock
  for (int i = 0; i < 300; ++i) bits.push_back(random() % (8 * good_.size()));
  for (const std::size_t bit : bits) {
    std::string bytes = good_;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    write_file(path_, bytes);
    EXPECT_THAT(refusal(), HasSubstr(path_)) << "bit " << bit;
  }
}

TEST_F(Damage, BytesAddedAtTheEndAreFound) {
  write_file(path_, good_ + std::string(512, '\0'));
  EXPECT_THAT(refusal(), HasSubstr("bytes where its user block says"));
}

TEST_F(Damage, ADatasetWithoutItsHashIsFound) {
  change_and_seal([](hid_t file) {
    const hid_t dataset = H5Dopen2(file, "model/uint8", H5P_DEFAULT);
    std::vector<unsigned char> bytes(251);
    H5Dread(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data());
    bytes[7] ^= 1;
    H5Dwrite(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data());
    H5Dclose(dataset);
  });
  EXPECT_THAT(message_of<CheckpointError>([&] { verify(path_); }),
              AllOf(HasSubstr(path_), HasSubstr("/model/uint8")));
  change_and_seal([](hid_t file) { H5Adelete_by_name(file, "model/uint8", "xxh3_128", H5P_DEFAULT); });
  EXPECT_THAT(message_of<CheckpointError>([&] { verify(path_); }), HasSubstr("xxh3_128"));
}

TEST_F(Damage, OtherFormatVersionsAreNamed) {
  for (const std::int64_t version : {0, 2}) {
    set_version(version);
    EXPECT_THAT(refusal(), AllOf(HasSubstr(path_), HasSubstr("format version " + std::to_string(version)),
                                 HasSubstr("reads version 1")));
  }
  set_version(format_version);
  EXPECT_NO_THROW(verify(path_));
}

TEST_F(Damage, AMissingRootAttributeIsNamed) {
  change_and_seal([](hid_t file) { H5Adelete(file, "round"); });
  EXPECT_THAT(refusal(), AllOf(HasSubstr(path_), HasSubstr("round")));
}

TEST_F(Damage, AForeignElementTypeIsNamed) {
  change_and_seal([](hid_t file) {
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t dataset =
        H5Dcreate2(file, "model/foreign", H5T_STD_I16BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dclose(dataset);
    H5Sclose(space);
  });
  EXPECT_THAT(refusal(), HasSubstr("/model/foreign has an element type"));
}

TEST_F(Damage, AWildShapeIsRefusedBeforeMemoryIsTaken) {
  change_and_seal([](hid_t file) {
    const hsize_t shape[] = {hsize_t{1} << 40, hsize_t{1} << 20};
    const hid_t space = H5Screate_simple(2, shape, nullptr);
    const hid_t dataset =
        H5Dcreate2(file, "model/wild", H5T_STD_U8LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ASSERT_GE(dataset, 0);
    H5Dclose(dataset);
    H5Sclose(space);
  });
  EXPECT_THAT(refusal(), HasSubstr("/model/wild claims more elements"));
}

TEST_F(Damage, FilesOfOtherKindsAreNamed) {
  EXPECT_THAT(message_of<CheckpointError>([&] { Reader reader(directory()); }), HasSubstr("is a folder"));
  EXPECT_THAT(message_of<CheckpointError>([&] { Reader reader(directory() + "/none.h5"); }),
              HasSubstr("does not exist"));
  const std::string pipe = directory() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(message_of<CheckpointError>([&] { Reader reader(pipe); }), HasSubstr("not a regular file"));
  write_file(path_, std::string(5000, 'x'));
  EXPECT_THAT(refusal(), HasSubstr("is not a Lockstep checkpoint"));
  // An HDF5 file of someone else.
  H5Fclose(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  EXPECT_THAT(refusal(), HasSubstr(path_));
  // The right wrapping around no HDF5 file.
  write_file(path_, std::string(5000, '\0'));
  seal(path_);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(path_), HasSubstr("HDF5")));
}

}  // namespace
}  // namespace lockstep::checkpoint
