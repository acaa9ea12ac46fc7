"""`python -m devctl_observer`."""

from devctl_observer.app import main

if __name__ == "__main__":
    main()
