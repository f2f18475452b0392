"""Live streams over HTTP: frames, their forms on the wire, and sending one to many."""
