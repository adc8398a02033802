"""What is known of single programs: which of their options and operands only read, and the small languages of some."""
