"""The protocols between the core and its plugins, and the types that cross them. No I/O, no behaviour."""
