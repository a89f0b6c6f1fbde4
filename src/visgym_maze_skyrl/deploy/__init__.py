"""What describes a run to Kubernetes? Manifests and policies, all made from one recipe."""
