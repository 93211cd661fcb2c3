"""Which voice should answer: the cheap one or the strong one."""
