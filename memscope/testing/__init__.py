"""For authors of plugins: an organization in one line, and suites that say whether a plugin keeps its contract.

* `builders`: people, groups, topics and memories, as values or stored: `harbor()` is a small ready organization;
* `strategies`: random organizations and memories for hypothesis;
* `agreement`: policy and a storage hold together over random organizations;
* `storage_conformance`, `guard_conformance`, `identity_conformance`, `embedding_conformance`: classes of tests to subclass;
* `pytest_plugin`: fixtures, found by pytest itself.
"""
