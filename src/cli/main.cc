#include <unistd.h>

#include "cli/run.h"
#include "io/console.h"
#include "io/signals.h"

int main(int argc, char** argv) {
  onnx_tag::InstallSignalHandlers();
  onnx_tag::io::PrepareStandardStreams();
  return onnx_tag::cli::Run(onnx_tag::io::Arguments(argc, argv), STDOUT_FILENO,
                            STDERR_FILENO);
}
