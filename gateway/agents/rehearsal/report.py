"""The long report of the rehearsal: everything in it that speech has to announce or leave out."""

LONG_REPORT = """\
# Report on the route cache

The cache now gives up stale routes after five minutes, and the two slow screens open at once. \
Before this change a route stayed in memory until the service was restarted, so a closed road \
could be offered for days. I checked the new rule with the recorded drives and with a fresh start.

## What changed

- The key of a route holds the day as well as the two places.
- A route older than five minutes is asked for again in the background.
- The map screen shows the old route until the new one has arrived.
- The settings page has a switch that turns the cache off.

The heart of it is in `src/cache/routes.py`:

```python
def is_fresh(route: Route, now_s: float) -> bool:
    return now_s - route.fetched_s < MAX_AGE_S


def lookup(cache: Cache, key: Key, now_s: float) -> Route | None:
    route = cache.get(key)
    return route if route and is_fresh(route, now_s) else None
```

## What I measured

I drove the same ten recorded routes twice, once with the old code and once with the new one. \
The first request of a day costs the same as before; every later one is answered from memory.

| screen   | before  | after  | routes |
|----------|---------|--------|--------|
| map      | 1840 ms | 95 ms  | 10     |
| search   | 920 ms  | 110 ms | 10     |
| settings | 40 ms   | 41 ms  | 0      |

Memory grew by six megabytes over the whole drive and came back down after it. The log in \
`/var/log/routes/cache.log` shows one refresh for every route, and none of them failed.

## What I looked at on the way

1. The tests in `tests/cache/test_routes.py` covered the happy path only, so I added seven cases.
2. The clock of the phone can jump, therefore ages are measured with a clock that cannot.
3. The old file `src/cache/legacy_store.py` is not used any more and can go in the next release.

Two pages were helpful: the [guide to cache headers](https://example.org/guides/cache-headers) \
and the [notes on background refresh](https://example.org/notes/refresh?topic=routes#waiting). \
The discussion about the five minutes is at https://example.org/discussions/512.

## What is left

The search screen still asks for the weather on every key press, which is a separate matter. \
I would take it up next, because it is the last request that a driver has to wait for. \
Nothing else is open, and the branch `route-cache` is ready to be merged.
"""
