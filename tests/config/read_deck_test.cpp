#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support.hpp"

namespace lockstep::config {
namespace {

using test::refusal;

class ReadDeck : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep_deck_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static std::string read_refusal(const std::string& path) {
    return refusal([&] { read_deck(path); });
  }

  std::string folder_;
};

TEST_F(ReadDeck, GivesBytesPathAndName) {
  const std::string bytes = std::string("a\0\r\n\xff", 5);
  const DeckText text = read_deck(write("cart pole.v1 {}%é.toml", bytes));
  EXPECT_EQ(text.bytes, bytes);
  EXPECT_EQ(text.name, "cart pole.v1 {}%é");
  EXPECT_EQ(text.path, folder_ + "/cart pole.v1 {}%é.toml");
  EXPECT_EQ(read_deck(write("deck", "")).name, "deck");
  EXPECT_EQ(read_deck(write(".toml", "")).name, ".toml");
}

TEST_F(ReadDeck, AMissingFile) {
  EXPECT_EQ(read_refusal(folder_ + "/no.toml"),
            folder_ + "/no.toml: the deck cannot be read: No such file or directory");
}

TEST_F(ReadDeck, AFolder) {
  EXPECT_EQ(read_refusal(folder_), folder_ + ": the deck is a folder, it must be a file of TOML");
}

TEST_F(ReadDeck, AFifoDoesNotBlock) {
  const std::string path = folder_ + "/fifo.toml";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(read_refusal(path), path + ": the deck is a FIFO, it must be a file of TOML");
}

TEST_F(ReadDeck, ADevice) {
  EXPECT_EQ(read_refusal("/dev/zero"), "/dev/zero: the deck is a device, it must be a file of TOML");
}

TEST_F(ReadDeck, ANameTooLong) {
  EXPECT_TRUE(read_refusal(folder_ + "/" + std::string(300, 'x')).ends_with("File name too long"));
}

TEST_F(ReadDeck, AnUnreadableFile) {
  const std::string path = write("secret.toml", "");
  ::chmod(path.c_str(), 0);
  ::chmod(folder_.c_str(), 0755);
  const bool root = ::geteuid() == 0;  // whom no permission stops
  const auto become = [&](uid_t user) { return root ? ::seteuid(user) : 0; };
  ASSERT_EQ(become(65534), 0);
  const std::string message = read_refusal(path);
  ASSERT_EQ(become(0), 0);
  EXPECT_EQ(message, path + ": the deck cannot be read: Permission denied");
}

TEST_F(ReadDeck, FiftyMegabytesOfCommentsAreRefusedAndLargeDecksWork) {
  const std::string line = "# " + std::string(97, 'c') + "\n";
  std::string comments;
  while (comments.size() < 50'000'000) comments += line;
  const std::string path = write("big.toml", comments);
  EXPECT_EQ(read_refusal(path), path + ": the deck has 50000000 bytes, at most 1048576 (1 MiB) are read");
  const std::string most = test::plain + comments.substr(0, (1 << 20) - test::plain.size());
  EXPECT_EQ(effective_deck(parse_deck(read_deck(write("most.toml", most)), {})),
            effective_deck(test::parse(test::plain)));
  EXPECT_NE(read_refusal(write("more.toml", most + "\n")), "");
}

}  // namespace
}  // namespace lockstep::config
