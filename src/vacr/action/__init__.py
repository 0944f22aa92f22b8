"""What the GitHub Actions of this repository do: `action.yml` audits a pull request,
`seal/action.yml` seals sessions.

They are part of the package, so that nothing of the repository that is looked at is ever on
Python's path, and so that they are typed, checked and tested as everything else is. They do what
`vacr verify`, `blame`, `view`, `seal` and `register` do, and tell it to GitHub.
"""
