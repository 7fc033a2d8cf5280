// What is refused: before anything is written, and before anything is read.
#include <gmock/gmock.h>

#include "checkpoint/example_state.hpp"
#include "checkpoint/shared_folder.hpp"
#include "lockstep/checkpoint/checkpoint.hpp"
#include "lockstep/core/error.hpp"

namespace lockstep::checkpoint {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Refusal : public WithRanks {
 protected:
  Contents contents() {
    Contents contents;
    contents.state = state_.view();
    contents.round = 3;
    return contents;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory()), {}));
  }
  void SetUp() override {
    WithRanks::SetUp();
    state_ = ExampleState(example_tensors(), Spread::sliced, rank(), size());
    state_.fill();
  }
  ExampleState state_{{}, Spread::sliced, 0, 1};
};

TEST_F(Refusal, AnElementThatNoRankHolds) {
  Writer writer(collectives(), {.directory = directory()});
  Contents lacking = contents();
  StateEntry& entry = lacking.state.entries[10];
  if (rank() == size() - 1) --entry.extents.back().length;
  const std::string text = message_of<ContractError>([&] { writer.write(lacking); });
  EXPECT_THAT(text, AllOf(HasSubstr("model/large"), HasSubstr("elements 9796 to 9797 of 9797")));
  EXPECT_EQ(files(), 0);
  EXPECT_NO_THROW(writer.write(contents()));
}

TEST_F(Refusal, ANameThatAFileCannotHold) {
  Writer writer(collectives(), {.directory = directory()});
  Contents wrong = contents();
  wrong.state.entries[2].name = "weights/a";
  EXPECT_THAT(message_of<ContractError>([&] { writer.write(wrong); }), HasSubstr("weights/a"));
  wrong = contents();
  wrong.round = -1;
  EXPECT_THROW(writer.write(wrong), ContractError);
  EXPECT_EQ(files(), 0);
}

TEST_F(Refusal, RanksThatDisagree) {
  if (size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  Writer writer(collectives(), {.directory = directory()});
  Contents odd = contents();
  if (rank() == size() - 1) odd.state.entries[3].shape = {18};
  EXPECT_THAT(message_of<ContractError>([&] { writer.write(odd); }),
              AllOf(HasSubstr("\"model/float16\" float16 [17]"), HasSubstr("\"model/float16\" float16 [18]"),
                    HasSubstr("rank " + std::to_string(size() - 1))));
  odd = contents();
  if (rank() == 1) odd.round = 4;
  EXPECT_THAT(message_of<ContractError>([&] { writer.write(odd); }),
              AllOf(HasSubstr("round 3"), HasSubstr("round 4")));
  odd = contents();
  if (rank() == 1) odd.state.entries.pop_back();
  EXPECT_THAT(message_of<ContractError>([&] { writer.write(odd); }), HasSubstr("training/counters/steps"));
  EXPECT_EQ(files(), 0);
}

TEST_F(Refusal, BadOptions) {
  EXPECT_THROW(Writer(collectives(), {.directory = directory(), .keep = 0}), ContractError);
  EXPECT_THROW(Writer(collectives(), {.directory = directory(), .keep_every = -1}), ContractError);
  EXPECT_THROW(Writer(collectives(), {.directory = directory(), .chunk_bytes = 8}), ContractError);
}

TEST_F(Refusal, AFolderThatCannotBeMade) {
  if (rank() == 0) write_file(directory() + "/file", "x");
  const auto make = [&] { Writer writer(collectives(), {.directory = directory() + "/file/checkpoints"}); };
  EXPECT_THAT(message_of<InputError>([&] { comm::agreed(collectives(), make); }),
              HasSubstr("/file/checkpoints"));
}

TEST_F(Refusal, AFolderRemovedInTheMeantimeIsTheSameErrorOnAllRanks) {
  const std::string inner = directory() + "/checkpoints";
  Writer writer(collectives(), {.directory = inner});
  if (rank() == 0) std::filesystem::remove_all(inner);
  const std::string text = message_of<IoError>([&] { writer.write(contents()); });
  EXPECT_THAT(text, HasSubstr("No such file or directory"));
  for (const std::string& other : comm::all_gather_text(collectives(), text)) EXPECT_EQ(other, text);
}

TEST_F(Refusal, CheckTellsAllProblemsAtOnce) {
  Writer writer(collectives(), {.directory = directory()});
  const Reader file(writer.write(contents()));
  StateView wanted = state_.view();
  wanted.entries[0].shape = {7, 15};
  wanted.entries[1].dtype = Dtype::float32;
  wanted.entries[2].name = "model/renamed";
  for (int i = 0; i < 8; ++i)
    wanted.entries.push_back({"model/new" + std::to_string(i), Dtype::float32, {1}, {}});
  const std::string text = message_of<CheckpointError>([&] { file.check(wanted); });
  EXPECT_THAT(text,
              AllOf(HasSubstr(file_name(3)), HasSubstr("model/float32 (file [7, 5, 3], wanted [7, 15])"),
                    HasSubstr("model/float64 (file float64, wanted float32)")));
  EXPECT_THAT(text,
              AllOf(HasSubstr("unexpected: model/bfloat16"), HasSubstr("missing: model/renamed, model/new0"),
                    HasSubstr("model/new3 and 4 more"), Not(HasSubstr("model/new4"))));
}

TEST_F(Refusal, CheckOfAPrefixLooksAtThatPartAlone) {
  Writer writer(collectives(), {.directory = directory()});
  const Reader file(writer.write(contents()));
  ExampleState wanted(example_tensors(), Spread::sliced, rank(), size());
  wanted.clear();
  StateView model = wanted.view();
  std::erase_if(model.entries, [](const StateEntry& entry) { return entry.name.starts_with("training/"); });
  EXPECT_THAT(message_of<CheckpointError>([&] { file.check(model); }),
              HasSubstr("unexpected: training/counters/steps, training/optimizer/a%2Fb/exp_avg"));
  EXPECT_NO_THROW(file.check(model, "model/"));
  // The other part may be anything, and is not read.
  StateView all = wanted.view();
  all.entries.back().shape = {99};
  EXPECT_NO_THROW(file.check(all, "model/"));
  file.read(all, "model/");
  EXPECT_THAT(wanted.first_wrong(), Not(HasSubstr("model/")));
  if (size() == 1) {
    EXPECT_THAT(wanted.first_wrong(), HasSubstr("training/"));
  }
  all.entries.pop_back();
  file.read(all, "training/");
  StateView counters;
  counters.entries.push_back(wanted.view().entries.back());
  file.read(counters);
  EXPECT_EQ(wanted.first_wrong(), "");
}

TEST_F(Refusal, ReadRefusesWhatDoesNotFit) {
  Writer writer(collectives(), {.directory = directory()});
  const Reader file(writer.write(contents()));
  std::vector<std::byte> storage(1 << 16);
  StateView wanted;
  wanted.add_whole("model/float64", Dtype::float64, {14}, storage.data());
  EXPECT_THROW(file.read(wanted), CheckpointError);
  wanted.entries[0].shape = {13};
  EXPECT_THROW(file.read(wanted), ContractError) << "an extent longer than the tensor";
}

}  // namespace
}  // namespace lockstep::checkpoint
