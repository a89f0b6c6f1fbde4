"""The backend for machines with GPUs: SkyRL on Ray, vLLM engines, and an FSDP policy."""
