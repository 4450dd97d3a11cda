"""Forms: what is asked and what each field takes, one module a subject."""
