#include <unistd.h>

#include "support/pipe.h"

namespace onnx_tag::test {

int MakePipe(int (&ends)[2]) { return pipe(ends); }

}  // namespace onnx_tag::test
