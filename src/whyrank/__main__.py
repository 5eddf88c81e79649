"""`python -m whyrank`."""

from whyrank.cli.app import main

if __name__ == "__main__":
    main()
