// Programs that have no code of ours read the files: h5dump, and Python with h5py by the script that
// docs/checkpoint.md shows.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdio>

#include "checkpoint/example_state.hpp"
#include "checkpoint/shared_folder.hpp"
#include "lockstep/checkpoint/checkpoint.hpp"

namespace lockstep::checkpoint {
namespace {

using testing::HasSubstr;

struct Output {
  int status = -1;
  std::string text;
};

Output run(const std::string& command) {
  Output output;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) output.text.append(buffer, got);
  output.status = ::pclose(pipe);
  return output;
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The first fenced block of a language on the format's page.
std::string block_of_page(const std::string& language) {
  const std::string page = read_file(LOCKSTEP_FORMAT_PAGE);
  const std::string fence = "```" + language + "\n";
  const std::size_t begin = page.find(fence);
  if (begin == std::string::npos) return "";
  const std::size_t start = begin + fence.size();
  return page.substr(start, page.find("```", start) - start);
}

class OtherReaders : public WithRanks {
 protected:
  void SetUp() override {
    WithRanks::SetUp();
    Writer writer(collectives(), {.directory = directory()});
    auto tensors = example_tensors();
    ExampleState state(tensors, Spread::replicated, 0, 1);
    state.fill();
    Contents contents;
    contents.state = state.view();
    contents.round = 12;
    values_ = {1.0f, -2.5f, 0.15625f};  // exact in bfloat16
    halves_ = {0x3F80, 0xC020, 0x3E20};
    contents.state.add_whole("model/actor.0.bias", Dtype::float32, {3}, values_.data());
    contents.state.add_whole("model/half", Dtype::bfloat16, {3}, halves_.data());
    contents.history["return_mean"] = {1.0, std::nan(""), 500.0};
    contents.provenance["host"] = "größe";
    path_ = writer.write(contents);
  }
  std::vector<float> values_;
  std::vector<std::uint16_t> halves_;
  std::string path_;
};

TEST_F(OtherReaders, H5dumpListsAndReadsTheFile) {
  const std::string h5dump = LOCKSTEP_H5DUMP;
  if (h5dump.ends_with("-NOTFOUND")) GTEST_SKIP() << "no h5dump here";
  const Output list = run(h5dump + " -n 1 " + path_);
  EXPECT_EQ(list.status, 0) << list.text;
  for (const char* name :
       {"/model/float32", "/model/größe.θ weight", "/training/optimizer/a%2Fb/exp_avg",
        "/history/return_mean", "/provenance/host", "/model/actor.0.bias/xxh3_128", "format_version"}) {
    EXPECT_THAT(list.text, HasSubstr(name));
  }
  const Output known = run(h5dump + " -d /model/actor.0.bias -d /model/half " + path_);
  EXPECT_EQ(known.status, 0) << known.text;
  EXPECT_EQ(count_of(known.text, "(0): 1, -2.5, 0.15625"), 2);
  EXPECT_THAT(known.text, HasSubstr("16-bit little-endian floating-point"));
}

TEST_F(OtherReaders, H5dumpPrintsWhatTheFormatsPageShows) {
  const std::string h5dump = LOCKSTEP_H5DUMP;
  if (h5dump.ends_with("-NOTFOUND")) GTEST_SKIP() << "no h5dump here";
  const std::string shown = block_of_page("console");
  const std::size_t first_line = shown.find('\n');
  ASSERT_NE(first_line, std::string::npos);
  EXPECT_EQ(shown.substr(0, first_line), "$ h5dump -d /model/actor.0.bias round_0000000012.h5");
  const Output printed =
      run("cd " + directory() + " && " + h5dump + " -d /model/actor.0.bias round_0000000012.h5");
  EXPECT_EQ(printed.text, shown.substr(first_line + 1));
}

TEST_F(OtherReaders, TheScriptOfTheFormatsPageVerifiesTheFile) {
  const std::string python = LOCKSTEP_PYTHON;
  if (python.ends_with("-NOTFOUND")) GTEST_SKIP() << "no Python environment here";
  const std::string script = block_of_page("python");
  ASSERT_FALSE(script.empty());
  write_file(directory() + "/read.py", script);
  const Output good = run(python + " " + directory() + "/read.py " + path_);
  EXPECT_EQ(good.status, 0) << good.text;
  EXPECT_THAT(good.text, HasSubstr("round 12"));
  EXPECT_THAT(good.text, HasSubstr("/model/boolean bool (19,)"));
  EXPECT_THAT(good.text, HasSubstr("/model/float16 float16 (17,)"));
  std::string bytes = read_file(path_);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 8);
  write_file(path_, bytes);
  EXPECT_NE(run(python + " " + directory() + "/read.py " + path_).status, 0);
}

TEST_F(OtherReaders, H5pyReadsTheValues) {
  const std::string python = LOCKSTEP_PYTHON;
  if (python.ends_with("-NOTFOUND")) GTEST_SKIP() << "no Python environment here";
  write_file(
      directory() + "/values.py",
      "import sys, h5py, numpy\n"
      "f = h5py.File(sys.argv[1], 'r')\n"
      "assert f['model/actor.0.bias'][:].tolist() == [1.0, -2.5, 0.15625]\n"
      "assert f['model/half'][:].astype('float32').tolist() == [1.0, -2.5, 0.15625]\n"
      "assert f['model/scalar'].shape == () and f['model/empty'].shape == (0, 4)\n"
      "assert f['model/boolean'].dtype == bool\n"
      "assert bytes(f['provenance/host'][:]).decode() == 'gr\\u00f6\\u00dfe'\n"
      "assert f['history/return_mean'].chunks and numpy.isnan(f['history/return_mean'][1])\n"
      "assert f.attrs['round'] == 12 and f.attrs['format_version'] == 1 and f.userblock_size == 512\n");
  const Output output = run(python + " " + directory() + "/values.py " + path_);
  EXPECT_EQ(output.status, 0) << output.text;
}

}  // namespace
}  // namespace lockstep::checkpoint
