"""The commands, by what they are about; `main` knows which module has which."""
