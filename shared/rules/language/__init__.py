"""What is asked (moves), what happened (events), how no is said (refusals), how numbers and JSON are read. Imports no other room."""
