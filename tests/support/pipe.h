// Pipes, and the device that is always there.
#pragma once

#include <string>

namespace onnx_tag::test {

// What is written to ends[1] is read from ends[0]; programs started from here
// do not get them. -1 where it fails.
int MakePipe(int (&ends)[2]);

// A pipe with a name among files. False where there are none.
bool MakeNamedPipe(const std::string& path);

// All that has arrived, and comes until nothing does for a moment: a
// pseudo-terminal takes its time.
std::string ReadArrived(int fd);

extern const char* const kNullDevice;

}  // namespace onnx_tag::test
