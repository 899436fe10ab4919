"""Object stores that tests start on this machine: one module for each."""
