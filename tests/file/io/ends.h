// Two ends: what is written to one is read from the other.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "support/pipe.h"

namespace onnx_tag::test {

class Ends {
 public:
  static Ends Pipe() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(MakePipe(fds), 0);
    return Ends(fds[0], fds[1]);
  }
  Ends(int from, int to) : from_(from), to_(to) {}
  ~Ends() {
    if (from_ >= 0) close(from_);
    close(to_);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  int to() const { return to_; }
  void CloseReader() { close(std::exchange(from_, -1)); }

  // What has arrived since the last call.
  std::string Read() const { return ReadArrived(from_); }

 private:
  int from_;
  int to_;
};

}  // namespace onnx_tag::test
