"""Knowledge of single programs, and some small languages."""
