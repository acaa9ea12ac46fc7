"""The GPU workers API: its nodes, jobs, keys and bills, without a kubeconfig."""
