"""Who may do what, decided in one place. Pure: sees values, does no I/O, imports only `memscope.model`.

`rules` is the one list of named rules. `permissions` makes every permission of it, `reach` the sets of audiences that
storage filters by, `effect` who gains and loses by a change, and `explain` the reasons a person is told.
"""
