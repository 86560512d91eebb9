#include <unistd.h>

#include "cli/run.h"
#include "io/signals.h"

int main(int argc, char** argv) {
  onnx_tag::InstallSignalHandlers();
  return onnx_tag::cli::Run({argv + (argc > 0 ? 1 : 0), argv + argc},
                            STDOUT_FILENO, STDERR_FILENO);
}
