-- The newest version of every saved view, removed ones among them.
FROM raw.saved_views QUALIFY version = max(version) OVER (PARTITION BY page, name)
