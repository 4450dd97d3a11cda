"""Flask's extensions, created unbound and bound in the factory."""

from __future__ import annotations

from flask_login import LoginManager
from flask_wtf.csrf import CSRFProtect

csrf = CSRFProtect()
login = LoginManager()
