"""The extension for Model Explorer: it loads the module `main` of the package that `--extensions` names."""
