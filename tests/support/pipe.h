// A pipe between two threads of a test.
#ifndef ONNX_TAG_TESTS_SUPPORT_PIPE_H_
#define ONNX_TAG_TESTS_SUPPORT_PIPE_H_

namespace onnx_tag::test {

// What is written to ends[1] is read from ends[0]. -1 where it fails.
int MakePipe(int (&ends)[2]);

}  // namespace onnx_tag::test

#endif  // ONNX_TAG_TESTS_SUPPORT_PIPE_H_
