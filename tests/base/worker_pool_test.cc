#include "base/worker_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <set>

namespace onnx_tag {
namespace {

using std::chrono::milliseconds;

TEST(WorkerPoolTest, EveryJobIsDoneOnce) {
  for (const std::size_t threads : {1u, 2u, 7u, 100u}) {
    std::mutex mutex;
    std::multiset<std::size_t> done;
    {
      Mailbox<int> ended;
      WorkerPool pool(threads, 50, [&](std::size_t index) {
        {
          const std::lock_guard lock(mutex);
          done.insert(index);
        }
        ended.Put(0);
      });
      for (int i = 0; i < 50; ++i) ended.Take(milliseconds(10'000));
    }
    EXPECT_EQ(done.size(), 50u);
    EXPECT_EQ(std::set<std::size_t>(done.begin(), done.end()).size(), 50u);
  }
}

TEST(WorkerPoolTest, ALongJobHoldsUpNoOther) {
  Mailbox<std::size_t> ended;
  std::atomic<bool> others_done{false};
  WorkerPool pool(2, 20, [&](std::size_t index) {
    // The first waits for all the rest: with one thread too few it would
    // never end.
    while (index == 0 && !others_done) std::this_thread::yield();
    ended.Put(index);
  });
  for (int i = 0; i < 19; ++i) {
    const auto index = ended.Take(milliseconds(10'000));
    ASSERT_TRUE(index);
    EXPECT_NE(*index, 0u);
  }
  others_done = true;
  EXPECT_EQ(ended.Take(milliseconds(10'000)), std::size_t{0});
}

TEST(WorkerPoolTest, AfterStopNothingNewStarts) {
  std::atomic<int> started{0};
  std::atomic<bool> go{false};
  {
    WorkerPool pool(2, 1000, [&](std::size_t) {
      ++started;
      while (!go) std::this_thread::yield();
    });
    while (started < 2) std::this_thread::yield();
    pool.Stop();
    go = true;
  }
  EXPECT_EQ(started, 2);
}

TEST(MailboxTest, PatienceEnds) {
  Mailbox<int> empty;
  EXPECT_EQ(empty.Take(milliseconds(1)), std::nullopt);
}

}  // namespace
}  // namespace onnx_tag
