"""AMDGPU code objects: ELF, kernel descriptors, metadata."""
