"""`python -m fake_gpu_plugin`."""

from fake_gpu_plugin.app import main

if __name__ == "__main__":
    main()
