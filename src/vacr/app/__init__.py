"""Programs around the workflows: the server of pages, and the GitHub actions.

`action.yml` audits a pull request, and `seal/action.yml` seals sessions. They are part of the
package, so that the audited repository is never on Python's path. Everything here calls workflows,
not the command line.
"""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.app.view_server import serve_pages as serve_pages

__getattr__, __dir__, __all__ = export_lazily(__name__, {"view_server": ("serve_pages",)})
