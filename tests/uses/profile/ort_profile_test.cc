#include <gtest/gtest.h>

#include "onnx_tag/error.h"
#include "support/temporary_folder.h"
#include "uses/profile/profile.h"

namespace onnx_tag::profile {
namespace {

std::string Event(const std::string& name, const std::string& op, int begin,
                  int duration, int thread = 1) {
  return "{\"cat\":\"Node\",\"tid\":" + std::to_string(thread) +
         ",\"dur\":" + std::to_string(duration) +
         ",\"ts\":" + std::to_string(begin) + ",\"name\":\"" + name +
         "\",\"args\":{\"op_name\":\"" + op + "\",\"x\":[{\"y\":1}]}}";
}

std::int64_t Count(Profile& profile) {
  return CountSelfTimes(
      profile, [&](KernelId id) { return profile.kernels[id].op == "If"; },
      [&](KernelId id) { return profile.kernels[id].name == "inner"; });
}

TEST(OrtProfile, TakesKernelsAndLeavesFences) {
  const Profile profile = ReadOrtProfile(
      "[" + Event("a_fence_before", "Add", 0, 5) + "," +
      Event("a_kernel_time", "Add", 5, 7) + "," +
      Event("a_fence_after", "Add", 12, 5) +
      ",{\"cat\":\"Session\",\"name\":\"model_run\",\"dur\":20,\"args\":{}}]");
  ASSERT_EQ(profile.runs.size(), 1u);
  EXPECT_EQ(profile.kernels[KernelId{0}].name, "a");
  EXPECT_EQ(profile.kernels[KernelId{0}].op, "Add");
  EXPECT_EQ(profile.runs[0].duration, 7);
  EXPECT_EQ(profile.model_runs, 1u);
  EXPECT_FALSE(profile.cut_off);
}

TEST(OrtProfile, TakesEventsInAnObject) {
  const Profile profile = ReadOrtProfile(
      "{\"traceEvents\":[" + Event("a_kernel_time", "Add", 5, 7) + "]}");
  EXPECT_EQ(profile.runs.size(), 1u);
}

TEST(OrtProfile, KeepsWhatIsWholeOfACutFile) {
  const Profile profile = ReadOrtProfile(
      "[" + Event("a_kernel_time", "Add", 5, 7) + ",\n{\"cat\":\"No");
  EXPECT_EQ(profile.runs.size(), 1u);
  EXPECT_TRUE(profile.cut_off);
}

TEST(OrtProfile, SaysWhichDurationIsWrong) {
  for (const std::string wrong : {"-1", "1e300", "1e999", "-1e999", "2e12",
                                  "\"7\"", "null", "[7]", "{}", "true"}) {
    SCOPED_TRACE(wrong);
    for (const char* const event :
         {R"({"cat":"Node","name":"a_kernel_time","args":{},"dur":)",
          R"({"cat":"Session","name":"model_run","args":{},"dur":)"}) {
      try {
        ReadOrtProfile("[" + Event("a_kernel_time", "Add", 5, 7) + ",\n" +
                       event + wrong + "}]");
        FAIL();
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kInput);
        if (wrong != "1e999" && wrong != "-1e999") {
          EXPECT_NE(std::string(error.what()).find(": line 2, column "),
                    std::string::npos)
              << error.what();
        }
      }
    }
  }
  EXPECT_THROW(
      ReadOrtProfile(R"([{"cat":"Node","name":"a_kernel_time","args":{}}])"),
      Error);
  EXPECT_THROW(ReadOrtProfile(R"([{"cat":"Node","name":"a_kernel_time",)"
                              R"("args":{"output_size":"many"}}])",
                              "output_size"),
               Error);
}

TEST(OrtProfile, SkipsAByteOrderMark) {
  const Profile profile =
      ReadProfile("\xEF\xBB\xBF[" + Event("a_kernel_time", "Add", 5, 7) + "]");
  EXPECT_EQ(profile.runs.size(), 1u);
  EXPECT_EQ(ReadProfile("\xEF\xBB\xBF"
                        "a\t7\n")
                .kernels[KernelId{0}]
                .name,
            "a");
}

TEST(OrtProfile, RefusesOtherJson) {
  EXPECT_THROW(ReadOrtProfile("{\"a\": 1}"), Error);
  EXPECT_THROW(ReadOrtProfile("[1, 2]"), Error);
  EXPECT_THROW(ReadOrtProfile("[}, 1, 2, 3]"), Error);
  EXPECT_THROW(ReadOrtProfile(""), Error);
}

TEST(SelfTime, TakesABranchFromItsIf) {
  Profile profile =
      ReadOrtProfile("[" + Event("inner_kernel_time", "Mul", 12, 10) + "," +
                     Event("if_kernel_time", "If", 10, 20) + "," +
                     Event("next_kernel_time", "Add", 30, 5) + "]");
  EXPECT_EQ(Count(profile), 25);
  EXPECT_EQ(profile.runs[1].self, 10);
  EXPECT_EQ(profile.runs[2].self, 5);
}

TEST(SelfTime, NestsAndTellsThreadsApart) {
  Profile profile =
      ReadOrtProfile("[" + Event("outer_kernel_time", "If", 0, 100) + "," +
                     Event("middle_kernel_time", "If", 10, 50) + "," +
                     Event("inner_kernel_time", "Mul", 20, 30) + "," +
                     Event("other_kernel_time", "Mul", 20, 30, 2) + "]");
  EXPECT_EQ(Count(profile), 130);
  EXPECT_EQ(profile.runs[0].self, 50);
  EXPECT_EQ(profile.runs[1].self, 20);
}

TEST(SelfTime, FindsAHolderOnAnotherThread) {
  Profile profile =
      ReadOrtProfile("[" + Event("outer_kernel_time", "If", 0, 100) + "," +
                     Event("inner_kernel_time", "Mul", 20, 30, 2) + "]");
  EXPECT_EQ(Count(profile), 100);
  EXPECT_EQ(profile.runs[0].self, 70);
}

}  // namespace
}  // namespace onnx_tag::profile
