"""The crash harness: a run is killed at every event and every file operation, and must come to the same end.

| room | holds |
|---|---|
| `harness` | `crash_points`, `crash_at`, `crash_everywhere` |
| `play` | `Play`, what is played; `Stage`, what it is played on |
| `questions` | a scripted model that outlives the processes |
| `points` | where a run can be killed, and a sample of it |
| `watching` | the disk and the database connection that see each operation, and kill |
| `processes` | forks that are killed, and one that serves |
| `left` | what a playing left behind |
| `checking` | `check`: the invariants |
"""
