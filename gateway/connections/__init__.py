"""Where a model answers: payloads and stored records, hosts and their dialects, keys, policy."""
