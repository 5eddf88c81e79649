"""`python -m whyrank`."""

from whyrank.cli.start import main

if __name__ == "__main__":
    main()
