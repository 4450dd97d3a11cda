"""The tools, a module for each family; thin: parse, call one use, hand its answer on."""
