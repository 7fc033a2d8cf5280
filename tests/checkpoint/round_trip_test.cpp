// Written by as many ranks as the test has, read as by other numbers of ranks.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "checkpoint/example_state.hpp"
#include "checkpoint/shared_folder.hpp"
#include "lockstep/checkpoint/checkpoint.hpp"
#include "lockstep/core/error.hpp"
#include "lockstep/staging/buffer.hpp"

namespace lockstep::checkpoint {
namespace {

class RoundTrip : public WithRanks {
 protected:
  Contents contents_of(const ExampleState& state, std::int64_t round) const {
    Contents contents;
    contents.state = state.view();
    contents.round = round;
    return contents;
  }

  void expect_readable_by_any_number(const std::string& path) {
    for (const int readers : {1, 2, 3, 4, 8}) {
      for (int reader = 0; reader < readers; ++reader) {
        for (const Spread spread : {Spread::sliced, Spread::cyclic}) {
          ExampleState wanted(example_tensors(), spread, reader, readers);
          wanted.clear();
          const Reader file(path);
          file.check(wanted.view());
          file.read(wanted.view());
          EXPECT_EQ(wanted.first_wrong(), "") << "as rank " << reader << " of " << readers;
        }
      }
    }
  }
};

TEST_F(RoundTrip, EveryDtypeAndShapeFromEverySpread) {
  Writer writer(collectives(), {.directory = directory(), .keep = 100, .keep_every = 0, .chunk_bytes = 512});
  std::int64_t round = 0;
  for (const Spread spread :
       {Spread::replicated, Spread::sliced, Spread::cyclic, Spread::last_rank, Spread::overlapping}) {
    ExampleState state(example_tensors(), spread, rank(), size());
    state.fill();
    const std::string path = writer.write(contents_of(state, round));
    EXPECT_EQ(path, directory() + "/" + file_name(round));
    EXPECT_NO_THROW(verify(path));
    EXPECT_EQ(Reader(path).round(), round);
    ExampleState whole(example_tensors(), Spread::replicated, 0, 1);
    whole.clear();
    Reader(path).read(whole.view());
    EXPECT_EQ(whole.first_wrong(), "");
    ++round;
  }
  expect_readable_by_any_number(directory() + "/" + file_name(1));
}

TEST_F(RoundTrip, EqualContentsGiveEqualFilesHoweverTheyAreSpreadAndCut) {
  std::vector<std::string> files;
  for (const std::size_t chunk_bytes : {64u, 4096u, 1u << 20}) {
    for (const Spread spread : {Spread::replicated, Spread::sliced, Spread::cyclic}) {
      Writer writer(collectives(), {.directory = directory(), .chunk_bytes = chunk_bytes});
      ExampleState state(example_tensors(), spread, rank(), size());
      state.fill();
      files.push_back(read_file(writer.write(contents_of(state, 5))));
      collectives().barrier().wait();  // the next write replaces the file
      EXPECT_EQ(files.back(), files.front());
    }
  }
}

TEST_F(RoundTrip, ASecondWriteSendsWhatHasChangedSince) {
  Writer writer(collectives(), {.directory = directory()});
  ExampleState state(example_tensors(), Spread::sliced, rank(), size());
  state.clear();
  writer.write(contents_of(state, 1));
  state.fill();
  ExampleState whole(example_tensors(), Spread::replicated, 0, 1);
  Reader(writer.write(contents_of(state, 2))).read(whole.view());
  EXPECT_EQ(whole.first_wrong(), "");
  // Other extents make another plan.
  ExampleState moved(example_tensors(), Spread::cyclic, rank(), size());
  moved.fill();
  whole.clear();
  Reader(writer.write(contents_of(moved, 3))).read(whole.view());
  EXPECT_EQ(whole.first_wrong(), "");
}

TEST_F(RoundTrip, ReplicasAreNotSentAndSmallTensorsShareMessages) {
  std::vector<ExampleTensor> tensors;
  for (int i = 0; i < 3000; ++i) tensors.push_back({"model/" + std::to_string(i), Dtype::float32, {5}});
  const auto sends = [&](Spread spread, std::int64_t round) {
    Writer writer(collectives(), {.directory = directory()});
    ExampleState state(tensors, spread, rank(), size());
    state.fill();
    const auto before = collectives().traffic().calls[static_cast<std::size_t>(comm::Kind::send)];
    const std::string path = writer.write(contents_of(state, round));
    ExampleState whole(tensors, Spread::replicated, 0, 1);
    whole.clear();
    Reader(path).read(whole.view());
    EXPECT_EQ(whole.first_wrong(), "");
    return collectives().traffic().calls[static_cast<std::size_t>(comm::Kind::send)] - before;
  };
  EXPECT_EQ(sends(Spread::replicated, 1), 0);
  EXPECT_LE(sends(Spread::sliced, 2), 1);
}

TEST_F(RoundTrip, StagingIsTwoChunksWhateverTheState) {
  const std::size_t chunk_bytes = 4096;
  staging::reset_peak();
  const std::size_t before = staging::live_bytes();
  Writer writer(collectives(), {.directory = directory(), .chunk_bytes = chunk_bytes});
  ExampleState state(example_tensors(), Spread::sliced, rank(), size());
  state.fill();
  writer.write(contents_of(state, 1));
  EXPECT_LE(staging::peak_bytes() - before, 2 * chunk_bytes);
}

TEST_F(RoundTrip, HistoryAndProvenanceOfAnySize) {
  Contents contents;
  contents.round = 100'000;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values(100'000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i % 7 == 0 ? nan : std::sin(static_cast<double>(i));
  contents.history = {{"return_mean", values}, {"loss/policy % {}", {-0.0, 1.5}}, {"empty", {}}};
  contents.provenance = {{"deck", std::string(200'000, 'x')},
                         {"empty", ""},
                         {"host/names\nü", "größe {} %s\n"},
                         {"nul", std::string("a\0b", 3)}};
  Writer writer(collectives(), {.directory = directory()});
  const Reader file(writer.write(contents));
  const auto history = file.history();
  ASSERT_EQ(history.size(), contents.history.size());
  for (const auto& [metric, expected] : contents.history) {
    const auto& found = history.at(metric);
    ASSERT_EQ(found.size(), expected.size()) << metric;
    // Bits, so that NaN equals itself and -0.0 is not 0.0.
    const bool same =
        expected.empty() || std::memcmp(found.data(), expected.data(), 8 * expected.size()) == 0;
    EXPECT_TRUE(same) << metric;
  }
  EXPECT_EQ(file.provenance(), contents.provenance);
  EXPECT_TRUE(file.datasets().empty());
  EXPECT_NO_THROW(verify(directory() + "/" + file_name(100'000)));
}

TEST_F(RoundTrip, DatasetsAreListedByName) {
  Writer writer(collectives(), {.directory = directory()});
  ExampleState state(example_tensors(), Spread::sliced, rank(), size());
  state.fill();
  const Reader file(writer.write(contents_of(state, 1)));
  auto expected = example_tensors();
  std::sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  ASSERT_EQ(file.datasets().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(file.datasets()[i].name, expected[i].name);
    EXPECT_EQ(file.datasets()[i].dtype, expected[i].dtype);
    EXPECT_EQ(file.datasets()[i].shape, expected[i].shape);
  }
  EXPECT_EQ(file.read_bytes("model/uint8").size(), 251);
  EXPECT_EQ(file.read_bytes("model/uint8")[100], example_byte(example_tensors()[5], 100));
  EXPECT_THROW(file.read_bytes("model/none"), CheckpointError);
}

TEST_F(RoundTrip, RetentionAndPointer) {
  Writer writer(collectives(), {.directory = directory(), .keep = 2, .keep_every = 4});
  for (std::int64_t round = 1; round <= 10; ++round) {
    Contents contents;
    contents.round = round;
    writer.write(contents);
    if (rank() == 0) {
      EXPECT_EQ(read_file(directory() + "/latest"), file_name(round) + "\n");
    }
  }
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory()))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, testing::UnorderedElementsAre("latest", file_name(4), file_name(8), file_name(9),
                                                   file_name(10)));
}

TEST_F(RoundTrip, WorksOverSharedMemoryToo) {
  auto shared = comm::make_collectives(comm::Communicator::world(), "auto", 60);
  Writer writer(*shared, {.directory = directory(), .chunk_bytes = 1024});
  ExampleState state(example_tensors(), Spread::cyclic, rank(), size());
  state.fill();
  ExampleState whole(example_tensors(), Spread::replicated, 0, 1);
  Reader(writer.write(contents_of(state, 1))).read(whole.view());
  EXPECT_EQ(whole.first_wrong(), "");
}

}  // namespace
}  // namespace lockstep::checkpoint
