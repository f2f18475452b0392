"""The table service on simulated time, with faults and interleavings drawn by a seed; a seed that fails, fails again."""
