"""Knowledge of single programs: options and operands that only read, and some small languages."""
