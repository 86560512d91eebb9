#include <fcntl.h>
#include <io.h>

#include "support/pipe.h"

namespace onnx_tag::test {

int MakePipe(int (&ends)[2]) { return _pipe(ends, 65536, _O_BINARY); }

}  // namespace onnx_tag::test
