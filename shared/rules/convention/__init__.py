"""Every option of a convention, the presets, and where each option comes from."""
