"""Programs around the workflows: the server of pages, and the GitHub actions.

`action.yml` audits a pull request, and `seal/action.yml` seals sessions. They are part of the
package, so that nothing of the audited repository is ever on Python's path. Everything here calls
workflows, and never the command line.
"""
