"""The provider formats, each a pure module of one shape."""
