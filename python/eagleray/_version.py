"""The versions: the only place where they are written."""

__version__ = "0.1.0"

#: The version of Ray whose API this is: what ``ray.__version__`` says where the second distribution gives that name.
API_VERSION = "2.60.0"
