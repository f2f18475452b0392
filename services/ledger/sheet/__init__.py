"""The sheet as people know it: drawn, printed, and compared with what other conventions make of it."""
