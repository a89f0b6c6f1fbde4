"""What describes a run to a cluster? Manifests, policies, dashboard and alerts, all made from one recipe."""
